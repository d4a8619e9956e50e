package gtc;

import java.time.Duration;

/** Times as the native side takes them. */
final class Times {
    /** Nanoseconds; -1 is none. */
    static long nanos(Duration time) {
        if (time == null) {
            return -1;
        }
        if (time.isNegative()) {
            throw new IllegalArgumentException("a time must not be negative: " + time);
        }
        try {
            return time.toNanos();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }

    private Times() {}
}
