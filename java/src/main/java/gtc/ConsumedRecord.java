package gtc;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** A record that was read: a view of its batch. */
public final class ConsumedRecord {
    private static final long NO_TIMESTAMP = -1;

    private final Batch batch;
    private final int index;

    ConsumedRecord(Batch batch, int index) {
        this.batch = batch;
        this.index = index;
    }

    /**
     * The topic.
     *
     * @return its name
     */
    public String topic() {
        return batch.topics[index];
    }

    /**
     * The partition.
     *
     * @return its number
     */
    public int partition() {
        return batch.partitions[index];
    }

    /**
     * The offset.
     *
     * @return its place in the partition
     */
    public long offset() {
        return batch.offsets[index];
    }

    /**
     * The key.
     *
     * @return the key itself, and no copy; null differs from empty
     */
    public byte[] key() {
        return batch.keys[index];
    }

    /**
     * The value.
     *
     * @return the value itself, and no copy; null is a tombstone, which differs from empty
     */
    public byte[] value() {
        return batch.values[index];
    }

    /**
     * The headers in their order.
     *
     * @return the headers
     */
    public List<Header> headers() {
        Object[] raw = (Object[]) batch.headers[index];
        List<Header> headers = new ArrayList<>();
        for (int at = 0; raw != null && at < raw.length; at += 2) {
            headers.add(new Header((String) raw[at], (byte[]) raw[at + 1]));
        }
        return headers;
    }

    /**
     * The timestamp in milliseconds since the Unix epoch.
     *
     * @return the timestamp, if the record has one
     */
    public OptionalLong timestampMs() {
        long timestamp = batch.timestamps[index];
        return timestamp == NO_TIMESTAMP ? OptionalLong.empty() : OptionalLong.of(timestamp);
    }

    @Override
    public String toString() {
        return "ConsumedRecord(" + topic() + ", " + partition() + ", " + offset() + ")";
    }
}
