package gtc;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/** Runs what blocks in Kafka's own client, for callers that do not wait. */
final class Blocking {
    private static final Executor THREADS =
            Executors.newCachedThreadPool(
                    work -> {
                        Thread thread = new Thread(work, "gtc-own-producer");
                        thread.setDaemon(true);
                        return thread;
                    });

    /**
     * Runs the work, also for a caller that cancels: that gives up the answer. The future that is
     * given to the executor would take the work with it.
     */
    static <T> CompletableFuture<T> call(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work, THREADS).copy();
    }

    private Blocking() {}
}
