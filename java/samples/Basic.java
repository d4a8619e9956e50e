import gtc.Coordinator;
import gtc.GlobalTransaction;
import gtc.OutgoingRecord;
import java.nio.file.Path;

/**
 * Writes one record to each of two clusters: both become visible, or neither.
 *
 * <pre>java -cp JARS Basic.java gtc.toml eu us orders</pre>
 */
public class Basic {
    public static void main(String[] arguments) {
        Path config = Path.of(arguments[0]);
        String first = arguments[1];
        String second = arguments[2];
        String topic = arguments[3];
        try (Coordinator coordinator = Coordinator.open(config)) {
            try (GlobalTransaction txn = coordinator.begin()) {
                for (String participant : new String[] {first, second}) {
                    txn.send(participant, OutgoingRecord.to(topic).key("order-1").value("an order"));
                }
                System.out.println(txn.commit() + " is on both clusters");
            }
        }
    }
}
