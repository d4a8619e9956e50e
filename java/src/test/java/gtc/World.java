package gtc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The clusters {@code eu} and {@code us}, which {@code cargo xtask languages java} starts and names
 * in the environment, and names that no other test has.
 */
final class World {
    static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * A client whose {@code client.id} begins so loses its first request that ends a transaction of {@code eu}, with the
     * connection: {@code cargo xtask languages} sees to that.
     */
    static final String LOSES_FIRST_END = "loses-first-end-";

    private static final String ENVIRONMENT = "GTC_TEST_CLUSTERS";
    private static final AtomicInteger NUMBERS = new AtomicInteger();

    final String name = "java-" + ProcessHandle.current().pid() + "-" + NUMBERS.incrementAndGet();
    final Path directory;
    private final Map<String, String> clusters = clusters();

    World(Path directory) {
        this.directory = directory;
    }

    private static Map<String, String> clusters() {
        String named = System.getenv(ENVIRONMENT);
        if (named == null) {
            throw new IllegalStateException(
                    ENVIRONMENT + " names no clusters: run `cargo xtask languages java`, or set it "
                            + "to eu=HOST:PORT us=HOST:PORT");
        }
        Map<String, String> clusters = new LinkedHashMap<>();
        for (String pair : named.split(" ")) {
            String[] parts = pair.split("=", 2);
            clusters.put(parts[0], parts[1]);
        }
        return clusters;
    }

    String bootstrap(String cluster) {
        return clusters.get(cluster);
    }

    Config.Builder values() {
        return values(Map.of());
    }

    /** With properties of all participants. */
    Config.Builder values(Map<String, Object> properties) {
        Config.Builder config =
                Config.builder()
                        .set(ConfigKeys.COORDINATOR_ID, name)
                        .set(ConfigKeys.COORDINATOR_LOG, directory.resolve("log"));
        clusters.forEach(
                (cluster, bootstrap) -> {
                    Map<String, Object> values = new LinkedHashMap<>(properties);
                    values.put(ConfigKeys.PARTICIPANT_KIND, "kafka");
                    values.put(ConfigKeys.PARTICIPANT_SLOTS, 4);
                    values.put("bootstrap.servers", bootstrap);
                    config.participant(cluster, values);
                });
        return config;
    }

    Config config() {
        return values().build();
    }

    Coordinator open() {
        return Coordinator.open(config());
    }

    String toml() {
        StringBuilder text =
                new StringBuilder("[coordinator]\nid = \"" + name + "\"\nlog = \"log\"\n");
        clusters.forEach(
                (cluster, bootstrap) ->
                        text.append("[participants." + cluster + "]\nkind = \"kafka\"\nslots = 4\n")
                                .append("bootstrap.servers = \"" + bootstrap + "\"\n"));
        return text.toString();
    }

    /** The same configuration as a file. */
    Path configFile() {
        Path file = directory.resolve("gtc.toml");
        try {
            Files.writeString(file, toml());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return file;
    }

    String topic() throws Exception {
        return topic("");
    }

    /** Makes a topic with one partition on both clusters. */
    String topic(String suffix) throws Exception {
        String topic = name + suffix;
        for (String bootstrap : clusters.values()) {
            try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
                admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            }
        }
        return topic;
    }

    /** Writes records outside of any transaction. */
    void write(String cluster, String topic, String... values) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap(cluster));
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
            for (String value : values) {
                byte[] payload = value.getBytes(StandardCharsets.UTF_8);
                producer.send(new ProducerRecord<>(topic, payload)).get();
            }
        }
    }

    /** The values that a read_committed reader sees. */
    List<String> committed(String cluster, String topic) {
        return records(cluster, topic).stream()
                .map(record -> new String(record.value(), StandardCharsets.UTF_8))
                .toList();
    }

    /** The records that a read_committed reader sees, up to the end of the partition. */
    List<ConsumerRecord<byte[], byte[]>> records(String cluster, String topic) {
        TopicPartition partition = new TopicPartition(topic, 0);
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> reader = reader(cluster, "read_committed");
                KafkaConsumer<byte[], byte[]> other = reader(cluster, "read_uncommitted")) {
            reader.assign(List.of(partition));
            reader.seekToBeginning(List.of(partition));
            // Markers are written after a commit is answered: an open transaction holds its end back.
            long end = other.endOffsets(List.of(partition)).get(partition);
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (reader.position(partition) < end) {
                assertTrue(System.nanoTime() < deadline, "the last stable offset is stuck");
                reader.poll(Duration.ofMillis(100)).forEach(found::add);
            }
        }
        return found;
    }

    private KafkaConsumer<byte[], byte[]> reader(String cluster, String isolation) {
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        Map<String, Object> settings =
                Map.of("bootstrap.servers", bootstrap(cluster), "isolation.level", isolation);
        return new KafkaConsumer<>(settings, bytes, bytes);
    }
}
