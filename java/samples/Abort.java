import gtc.Coordinator;
import gtc.GlobalTransaction;
import gtc.OutgoingRecord;
import java.nio.file.Path;

/**
 * An exception in the middle of a transaction: nothing of it is visible on either cluster.
 *
 * <pre>java -cp JARS Abort.java gtc.toml eu us orders</pre>
 */
public class Abort {
    private static class OutOfStock extends Exception {
        private static final long serialVersionUID = 1L;
    }

    public static void main(String[] arguments) {
        Path config = Path.of(arguments[0]);
        String first = arguments[1];
        String second = arguments[2];
        String topic = arguments[3];
        try (Coordinator coordinator = Coordinator.open(config)) {
            String id = "";
            try (GlobalTransaction txn = coordinator.begin()) {
                id = txn.id();
                txn.send(first, OutgoingRecord.to(topic).value("an order"));
                txn.send(second, OutgoingRecord.to(topic).value("an order"));
                throw new OutOfStock();
            } catch (OutOfStock error) {
                System.out.println(id + " is on neither cluster: " + coordinator.outcome(id));
            }
        }
    }
}
