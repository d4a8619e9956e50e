import gtc.Coordinator;
import gtc.GlobalTransaction;
import gtc.OutgoingRecord;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Java's program of {@code cargo xtask bench languages}.
 *
 * <pre>java -cp JARS Transactions.java CONFIG TOPIC BATCH SECONDS</pre>
 *
 * Each line of standard input is a turn.
 */
public class Transactions {
    private static final byte[] VALUE = new byte[100];
    private static final String[] PARTICIPANTS = {"eu", "us"};

    public static void main(String[] arguments) throws IOException {
        Path config = Path.of(arguments[0]);
        String topic = arguments[1];
        int batch = Integer.parseInt(arguments[2]);
        double seconds = Double.parseDouble(arguments[3]);
        Arrays.fill(VALUE, (byte) 7);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        try (Coordinator coordinator = Coordinator.open(config)) {
            coordinator.recover();
            while (input.readLine() != null) {
                long begun = System.nanoTime();
                long transactions = transact(coordinator, topic, batch, seconds);
                tell(transactions, transactions * batch * PARTICIPANTS.length, begun);
            }
        }
    }

    private static void tell(long transactions, long records, long begun) {
        double seconds = (System.nanoTime() - begun) / 1e9;
        System.out.println(
                "{\"transactions\": " + transactions + ", \"records\": " + records
                        + ", \"seconds\": " + seconds + "}");
    }

    /** One transaction after the other, for so long; tells how many. */
    private static long transact(Coordinator coordinator, String topic, int batch, double seconds) {
        long transactions = 0;
        long begun = System.nanoTime();
        while (System.nanoTime() - begun < seconds * 1e9) {
            try (GlobalTransaction txn = coordinator.begin()) {
                for (String participant : PARTICIPANTS) {
                    txn.sendMany(participant, records(topic, batch));
                }
                txn.commit();
            }
            transactions++;
        }
        return transactions;
    }

    private static List<OutgoingRecord> records(String topic, int batch) {
        List<OutgoingRecord> records = new ArrayList<>(batch);
        for (int number = 0; number < batch; number++) {
            records.add(OutgoingRecord.to(topic).value(VALUE));
        }
        return records;
    }
}
