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

    static <T> CompletableFuture<T> call(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work, THREADS);
    }

    private Blocking() {}
}
