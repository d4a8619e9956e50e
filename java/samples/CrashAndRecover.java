import gtc.Coordinator;
import gtc.GlobalTransaction;
import gtc.GtcException;
import gtc.KeyedOutcome;
import gtc.OutgoingRecord;
import gtc.Outcome;
import gtc.Retry;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Books a transfer exactly once, however often it is killed on the way: start it again until it
 * ends by itself.
 *
 * <pre>java -cp JARS CrashAndRecover.java gtc.toml eu us transfers</pre>
 *
 * The transaction carries a key, so that after a crash the program asks what became of it instead
 * of booking twice.
 */
public class CrashAndRecover {
    private static final String KEY = "transfer-1";

    public static void main(String[] arguments) {
        Path config = Path.of(arguments[0]);
        String first = arguments[1];
        String second = arguments[2];
        String topic = arguments[3];
        try (Coordinator coordinator = Coordinator.open(config)) {
            // What an earlier run left open is finished first, so that the answer is final.
            coordinator.recover();
            Optional<KeyedOutcome> found = coordinator.outcomeByKey(KEY);
            if (found.isPresent() && found.get().outcome() == Outcome.COMMITTED) {
                System.out.println(KEY + " was booked before, as " + found.get().id());
                return;
            }
            while (true) {
                try (GlobalTransaction txn = coordinator.begin(KEY)) {
                    txn.send(first, OutgoingRecord.to(topic).key(KEY).value("-100"));
                    txn.send(second, OutgoingRecord.to(topic).key(KEY).value("+100"));
                    System.out.println(KEY + " is booked, as " + txn.commit());
                    return;
                } catch (GtcException.Aborted error) {
                    if (error.retry() != Retry.LATER) {
                        throw error;
                    }
                    // Nothing is visible: it can run again. In doubt it must not.
                    System.err.println("again: " + error.getMessage());
                }
            }
        }
    }
}
