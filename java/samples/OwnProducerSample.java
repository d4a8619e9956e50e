import gtc.Coordinator;
import gtc.GlobalTransaction;
import gtc.GtcException;
import gtc.OutgoingRecord;
import gtc.OwnProducer;
import gtc.Reuse;
import java.nio.file.Path;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A producer of the application's own, of Kafka's client, takes part beside a managed one.
 *
 * <pre>java -cp JARS OwnProducerSample.java gtc.toml eu us orders BOOTSTRAP_OF_EU</pre>
 */
public class OwnProducerSample {
    private static final String TRANSACTIONAL_ID = "orders-writer";

    public static void main(String[] arguments) {
        String eu = arguments[1];
        String us = arguments[2];
        String topic = arguments[3];
        try (Coordinator coordinator = Coordinator.open(Path.of(arguments[0]))) {
            // A restart may find a promised branch: initialising the producer now would abort it.
            coordinator.settle(eu, TRANSACTIONAL_ID);
            try (KafkaProducer<String, String> producer = producer(arguments[4])) {
                producer.initTransactions();
                for (String order : new String[] {"an order", "another order"}) {
                    producer.beginTransaction();
                    try (GlobalTransaction txn = coordinator.begin()) {
                        OwnProducer<String, String> own = txn.enlist(eu, producer, TRANSACTIONAL_ID);
                        own.send(new ProducerRecord<>(topic, order));
                        txn.send(us, OutgoingRecord.to(topic).value(order));
                        System.out.println(txn.commit() + " is on both clusters");
                        // The producer goes on, unless it has to be made anew.
                        if (own.finished() == Reuse.DISCARD) {
                            break;
                        }
                    } catch (GtcException.Aborted error) {
                        System.err.println(error.getMessage());
                    }
                }
            }
        }
    }

    private static KafkaProducer<String, String> producer(String bootstrap) {
        Map<String, Object> settings =
                Map.of("bootstrap.servers", bootstrap, "transactional.id", TRANSACTIONAL_ID);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }
}
