package gtc;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/**
 * The number of what the native side holds for an object. It is given back when the object is done
 * with it, or when nobody can reach the object any more: that is a net for leaks, and ends nothing
 * that is still in use.
 */
final class Handle {
    private static final Cleaner CLEANER = Cleaner.create();

    private final AtomicLong number;
    private final Cleaner.Cleanable cleanable;

    private Handle(AtomicLong number, Cleaner.Cleanable cleanable) {
        this.number = number;
        this.cleanable = cleanable;
    }

    static Handle of(Object owner, long number) {
        AtomicLong held = new AtomicLong(number);
        return new Handle(held, CLEANER.register(owner, () -> free(held)));
    }

    private static void free(AtomicLong held) {
        long number = held.getAndSet(0);
        if (number != 0) {
            Native.free(number);
        }
    }

    /** Calls a verb; the owner stays reachable for as long as that takes. */
    <T> T use(Object owner, LongFunction<T> verb) {
        try {
            return verb.apply(number.get());
        } finally {
            Reference.reachabilityFence(owner);
        }
    }

    /** As {@link #use}, for a verb without a value. */
    void tell(Object owner, LongConsumer verb) {
        use(
                owner,
                it -> {
                    verb.accept(it);
                    return null;
                });
    }

    boolean isReleased() {
        return number.get() == 0;
    }

    /** Gives the number back; twice does no harm. */
    void release() {
        cleanable.clean();
    }
}
