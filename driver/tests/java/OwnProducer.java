import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * An application's own producer, driven by lines on standard input; each is answered by one line,
 * "ok" or "error" and why. "open" begins a new life: the producer before it is left as a killed
 * process leaves it, with what it had open.
 */
public class OwnProducer {
    private static KafkaProducer<String, String> producer;
    private static final AtomicInteger sent = new AtomicInteger();
    private static final AtomicInteger delivered = new AtomicInteger();

    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().trim().split(" ");
            if (words[0].equals("quit")) {
                break;
            }
            try {
                act(words);
                answer("ok");
            } catch (Exception error) {
                answer("error " + error.toString().replace('\n', ' '));
            }
        }
        // Producers that were left behind must not hold the process back.
        Runtime.getRuntime().halt(0);
    }

    private static void answer(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void act(String[] words) {
        switch (words[0]) {
            case "open" -> {
                producer = open(words[1], words[2]);
                producer.initTransactions();
            }
            case "begin" -> {
                sent.set(0);
                delivered.set(0);
                producer.beginTransaction();
            }
            case "send" -> send(words[1], Integer.parseInt(words[2]), words[3]);
            case "flush" -> {
                producer.flush();
                if (delivered.get() != sent.get()) {
                    throw new IllegalStateException(delivered + " of " + sent + " delivered");
                }
            }
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private static KafkaProducer<String, String> open(String servers, String id) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("transactional.id", id);
        properties.put("transaction.timeout.ms", "600000");
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }

    private static void send(String topic, int partition, String value) {
        sent.incrementAndGet();
        producer.send(
                new ProducerRecord<>(topic, partition, null, value),
                (metadata, error) -> {
                    if (error == null) {
                        delivered.incrementAndGet();
                    }
                });
    }
}
