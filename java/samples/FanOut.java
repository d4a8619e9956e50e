import gtc.Batch;
import gtc.ConsumerOptions;
import gtc.Coordinator;
import gtc.GlobalTransaction;
import gtc.OutgoingRecord;
import gtc.TransactionalConsumer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Copies a topic to several clusters, with futures: a record reaches all of them, or none.
 *
 * <pre>java -cp JARS FanOut.java gtc.toml eu orders us apac</pre>
 */
public class FanOut {
    public static void main(String[] arguments) {
        Path config = Path.of(arguments[0]);
        String source = arguments[1];
        String topic = arguments[2];
        String[] targets = Arrays.copyOfRange(arguments, 3, arguments.length);
        int count = 0;
        try (Coordinator coordinator = Coordinator.open(config)) {
            coordinator.recover();
            TransactionalConsumer consumer =
                    coordinator.consumer(source, ConsumerOptions.group("fan-out", topic));
            while (!consumer.isCaughtUp()) {
                Batch batch = consumer.nextAsync(Duration.ofMillis(500)).join();
                if (batch != null) {
                    copy(coordinator.begin(), batch, targets).join();
                    count += batch.size();
                }
            }
        }
        System.out.println(count + " records are on all clusters");
    }

    private static CompletableFuture<String> copy(
            GlobalTransaction txn, Batch batch, String[] targets) {
        List<OutgoingRecord> copies =
                batch.stream()
                        .map(
                                record ->
                                        OutgoingRecord.to(record.topic())
                                                .key(record.key())
                                                .value(record.value())
                                                .headers(record.headers()))
                        .toList();
        CompletableFuture<?>[] sent =
                Arrays.stream(targets)
                        .map(target -> txn.sendManyAsync(target, copies))
                        .toArray(CompletableFuture[]::new);
        return CompletableFuture.allOf(sent)
                .thenCompose(all -> txn.sendOffsetsAsync(batch))
                .thenCompose(moved -> txn.commitAsync())
                // Aborts where it was not asked to commit.
                .whenComplete((id, error) -> txn.close());
    }
}
