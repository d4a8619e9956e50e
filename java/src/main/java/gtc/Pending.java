package gtc;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * The result of a verb that is under way, by its number. One thread of this class hears of all
 * results, so that no thread of gtc's runs code of an application; whoever waits for a result, or
 * an executor where nobody does, takes it from the native side.
 */
final class Pending {
    /**
     * What is there so soon, as most enlistments are, is waited for on the native side, which
     * spares two changes of threads. An interrupt is seen behind it.
     */
    private static final int MOMENT_US = 1000;

    /** The group that all virtual threads say they are in. Java 17 has no other way to tell. */
    private static final String VIRTUAL = "VirtualThreads";

    private static final Map<Long, Pending> WATCHED = new ConcurrentHashMap<>();

    static {
        Thread thread = new Thread(Pending::hearOfResults, "gtc-results");
        thread.setDaemon(true);
        thread.start();
    }

    private final long number;
    private final CompletableFuture<Void> ready = new CompletableFuture<>();

    private Pending(long number) {
        this.number = number;
    }

    private static void hearOfResults() {
        while (true) {
            for (long number : Native.takeReady()) {
                Pending pending = WATCHED.remove(number);
                if (pending != null) {
                    pending.ready.complete(null);
                }
            }
        }
    }

    /** A virtual thread would hold its carrier on the native side, and with it all others. */
    private static int patienceUs() {
        return VIRTUAL.equals(Thread.currentThread().getThreadGroup().getName()) ? 0 : MOMENT_US;
    }

    private static Pending watch(long number, int patienceUs) {
        Pending pending = new Pending(number);
        WATCHED.put(number, pending);
        if (Native.watch(number, patienceUs)) {
            WATCHED.remove(number);
            pending.ready.complete(null);
        }
        return pending;
    }

    /** Gives up what can be given up without harm. */
    private void giveUp() {
        WATCHED.remove(number);
        Native.giveUp(number);
    }

    /** Waits for a result. An interrupt gives up what can be given up without harm. */
    static Object await(long number) {
        if (number == 0) {
            return null;
        }
        Pending pending = watch(number, patienceUs());
        try {
            pending.ready.get();
        } catch (InterruptedException interrupt) {
            pending.giveUp();
            Thread.currentThread().interrupt();
            throw new WaitInterruptedException();
        } catch (ExecutionException impossible) {
            throw new AssertionError(impossible);
        }
        return Native.take(number);
    }

    /** Waits for a result that has to be known: an interrupt is seen by what waits next. */
    static Object awaitThrough(long number) {
        if (number == 0) {
            return null;
        }
        watch(number, patienceUs()).ready.join();
        return Native.take(number);
    }

    /**
     * The result as a future. Cancelling it gives up what can be given up without harm. What
     * depends on it runs where the futures of the JDK run theirs.
     */
    static <T> CompletableFuture<T> future(LongSupplier verb, Function<Object, T> convert) {
        long number;
        try {
            number = verb.getAsLong();
        } catch (RuntimeException error) {
            return CompletableFuture.failedFuture(error);
        }
        if (number == 0) {
            return CompletableFuture.completedFuture(convert.apply(null));
        }
        CompletableFuture<T> future = new CompletableFuture<>();
        Pending pending = watch(number, 0);
        pending.ready.thenRunAsync(
                () -> {
                    try {
                        future.complete(convert.apply(Native.take(number)));
                    } catch (Throwable error) {
                        future.completeExceptionally(error);
                    }
                });
        future.whenComplete(
                (value, error) -> {
                    if (future.isCancelled()) {
                        pending.giveUp();
                    }
                });
        return future;
    }

    /** As {@link #future}, for a verb without a value. */
    static CompletableFuture<Void> future(LongSupplier verb) {
        return future(verb, nothing -> null);
    }
}
