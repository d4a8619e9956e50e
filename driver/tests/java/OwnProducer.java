import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Own producers of applications, driven by lines on standard input: a transactional.id, a command
 * and its words. Each line is answered by one, "ok" or "error" and why. "open" begins a new life:
 * the producer of that id before it is left as a killed process leaves it, with what it had open.
 */
public class OwnProducer {
    private static final Map<String, OwnProducer> lives = new HashMap<>();

    private final KafkaProducer<String, String> producer;
    private final AtomicInteger sent = new AtomicInteger();
    private final AtomicInteger delivered = new AtomicInteger();

    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().trim().split(" ");
            if (words[0].equals("quit")) {
                break;
            }
            try {
                if (words[1].equals("open")) {
                    lives.put(words[0], new OwnProducer(words[0], words[2]));
                } else {
                    lives.get(words[0]).act(words);
                }
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

    private OwnProducer(String id, String servers) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("transactional.id", id);
        properties.put("transaction.timeout.ms", "600000");
        StringSerializer text = new StringSerializer();
        producer = new KafkaProducer<>(properties, text, text);
        producer.initTransactions();
    }

    private void act(String[] words) {
        switch (words[1]) {
            case "begin" -> {
                sent.set(0);
                delivered.set(0);
                producer.beginTransaction();
            }
            case "send" -> send(words[2], Integer.parseInt(words[3]), words[4]);
            case "flush" -> {
                producer.flush();
                if (delivered.get() != sent.get()) {
                    throw new IllegalStateException(delivered + " of " + sent + " delivered");
                }
            }
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalArgumentException(words[1]);
        }
    }

    private void send(String topic, int partition, String value) {
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
