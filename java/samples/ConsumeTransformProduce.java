import gtc.Batch;
import gtc.ConsumedRecord;
import gtc.ConsumerOptions;
import gtc.Coordinator;
import gtc.GlobalTransaction;
import gtc.GtcException;
import gtc.OutgoingRecord;
import gtc.Retry;
import gtc.TransactionalConsumer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;

/**
 * Reads orders on one cluster and writes their sums to another: offsets and records move in one
 * transaction, so that each order has exactly one sum, through any crash.
 *
 * <pre>java -cp JARS ConsumeTransformProduce.java gtc.toml eu numbers us sums</pre>
 *
 * An order is numbers with spaces between them, such as {@code 3 4}.
 */
public class ConsumeTransformProduce {
    public static void main(String[] arguments) {
        Path config = Path.of(arguments[0]);
        String source = arguments[1];
        String orders = arguments[2];
        String target = arguments[3];
        String sums = arguments[4];
        int count = 0;
        try (Coordinator coordinator = Coordinator.open(config)) {
            // What a crash left open holds the group's offsets back: it is ended first.
            coordinator.recover();
            ConsumerOptions options = ConsumerOptions.group("sums", orders).instance("sums-1");
            TransactionalConsumer consumer = coordinator.consumer(source, options);
            while (!consumer.isCaughtUp()) {
                Batch batch = consumer.next(Duration.ofMillis(500));
                if (batch == null) {
                    continue;
                }
                try (GlobalTransaction txn = coordinator.begin()) {
                    for (ConsumedRecord record : batch) {
                        txn.send(target, OutgoingRecord.to(sums).key(record.key()).value(sum(record)));
                    }
                    txn.sendOffsets(consumer);
                    txn.commit();
                    count += batch.size();
                } catch (GtcException.Aborted error) {
                    if (error.retry() != Retry.LATER) {
                        throw error;
                    }
                    // Nothing of it is visible: the consumer hands the records out again.
                    System.err.println("again: " + error.getMessage());
                }
            }
        }
        System.out.println(count + " orders summed");
    }

    private static String sum(ConsumedRecord order) {
        byte[] value = order.value() == null ? new byte[0] : order.value();
        String text = new String(value, StandardCharsets.UTF_8);
        try {
            String[] amounts = text.isEmpty() ? new String[0] : text.split(" ");
            return String.valueOf(Arrays.stream(amounts).mapToInt(Integer::parseInt).sum());
        } catch (NumberFormatException none) {
            String place = order.topic() + " partition " + order.partition() + " offset " + order.offset();
            throw new IllegalArgumentException(
                    place + ": numbers such as `3 4` are expected, and not " + text, none);
        }
    }
}
