package gtc;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A record to write: {@code OutgoingRecord.to("orders").key("1").value(bytes)}. Each method gives
 * back a new one. Arrays are copied when the record is sent.
 */
public final class OutgoingRecord {
    private static final int NO_PARTITION = -1;
    private static final long NO_TIMESTAMP = -1;

    private final String topic;
    private final byte[] key;
    private final byte[] value;
    private final List<Header> headers;
    private final int partition;
    private final long timestampMs;

    private OutgoingRecord(
            String topic,
            byte[] key,
            byte[] value,
            List<Header> headers,
            int partition,
            long timestampMs) {
        this.topic = topic;
        this.key = key;
        this.value = value;
        this.headers = headers;
        this.partition = partition;
        this.timestampMs = timestampMs;
    }

    /**
     * An empty record for a topic.
     *
     * @param topic the topic
     * @return a record without key and value
     */
    public static OutgoingRecord to(String topic) {
        Objects.requireNonNull(topic, "topic");
        return new OutgoingRecord(topic, null, null, List.of(), NO_PARTITION, NO_TIMESTAMP);
    }

    /**
     * With a key.
     *
     * @param key the key; null differs from empty
     * @return a record with it
     */
    public OutgoingRecord key(byte[] key) {
        return new OutgoingRecord(topic, key, value, headers, partition, timestampMs);
    }

    /**
     * With a key, written as UTF-8.
     *
     * @param key the key
     * @return a record with it
     */
    public OutgoingRecord key(String key) {
        return key(utf8(key));
    }

    /**
     * With a value.
     *
     * @param value the value; null is a tombstone, which differs from empty
     * @return a record with it
     */
    public OutgoingRecord value(byte[] value) {
        return new OutgoingRecord(topic, key, value, headers, partition, timestampMs);
    }

    /**
     * With a value, written as UTF-8.
     *
     * @param value the value
     * @return a record with it
     */
    public OutgoingRecord value(String value) {
        return value(utf8(value));
    }

    /**
     * With one more header.
     *
     * @param name its name, which may come twice
     * @param value its value; null differs from empty
     * @return a record with it
     */
    public OutgoingRecord header(String name, byte[] value) {
        Objects.requireNonNull(name, "name");
        List<Header> more = new ArrayList<>(headers);
        more.add(new Header(name, value));
        return headers(more);
    }

    /**
     * With these headers instead of others.
     *
     * @param headers the headers in their order
     * @return a record with them
     */
    public OutgoingRecord headers(List<Header> headers) {
        Objects.requireNonNull(headers, "headers");
        return new OutgoingRecord(
                topic, key, value, Arguments.elements(headers, "headers"), partition, timestampMs);
    }

    /**
     * For a partition; without it the partitioner chooses.
     *
     * @param partition the partition
     * @return a record for it
     */
    public OutgoingRecord partition(int partition) {
        if (partition < 0) {
            throw new IllegalArgumentException("a partition must not be negative: " + partition);
        }
        return new OutgoingRecord(topic, key, value, headers, partition, timestampMs);
    }

    /**
     * With a timestamp; without it the record has the time at which it is sent.
     *
     * @param timestampMs milliseconds since the Unix epoch
     * @return a record with it
     */
    public OutgoingRecord timestampMs(long timestampMs) {
        if (timestampMs < 0) {
            throw new IllegalArgumentException("a timestamp must not be negative: " + timestampMs);
        }
        return new OutgoingRecord(topic, key, value, headers, partition, timestampMs);
    }

    /**
     * The topic.
     *
     * @return its name
     */
    public String topic() {
        return topic;
    }

    private static byte[] utf8(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    byte[] key() {
        return key;
    }

    byte[] value() {
        return value;
    }

    List<Header> headers() {
        return headers;
    }

    /** Negative: none. */
    int partition() {
        return partition;
    }

    /** Negative: none. */
    long timestampMs() {
        return timestampMs;
    }
}
