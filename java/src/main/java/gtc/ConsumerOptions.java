package gtc;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/** What a consumer reads, and how. */
public final class ConsumerOptions {
    private final String group;
    private final List<String> topics;
    private OffsetReset reset = OffsetReset.EARLIEST;
    private String instance;
    private int recordsMax = -1;
    private long bytesMax = -1;
    private Duration linger;

    private ConsumerOptions(String group, List<String> topics) {
        this.group = group;
        this.topics = Arguments.elements(topics, "topics");
    }

    /**
     * A consumer of a group.
     *
     * @param group the group
     * @param topics the topics; those that begin with {@code ^} are patterns
     * @return the options
     */
    public static ConsumerOptions group(String group, String... topics) {
        Objects.requireNonNull(group, "group");
        Objects.requireNonNull(topics, "topics");
        return new ConsumerOptions(group, Arrays.asList(topics));
    }

    /**
     * Says what happens where the cluster does not have a position: earliest if not said.
     *
     * @param reset where to go on
     * @return this
     */
    public ConsumerOptions reset(OffsetReset reset) {
        Objects.requireNonNull(reset, "reset");
        this.reset = reset;
        return this;
    }

    /**
     * Makes it a static member of the group, in the place of whoever has that name: after a crash
     * its partitions are read again at once.
     *
     * @param instance the name of the member
     * @return this
     */
    public ConsumerOptions instance(String instance) {
        this.instance = instance;
        return this;
    }

    /**
     * Says how many records make a batch full.
     *
     * @param recordsMax the number
     * @return this
     */
    public ConsumerOptions recordsMax(int recordsMax) {
        if (recordsMax < 0) {
            throw new IllegalArgumentException("records_max must not be negative: " + recordsMax);
        }
        this.recordsMax = recordsMax;
        return this;
    }

    /**
     * Says how many bytes make a batch full.
     *
     * @param bytesMax the number
     * @return this
     */
    public ConsumerOptions bytesMax(long bytesMax) {
        if (bytesMax < 0) {
            throw new IllegalArgumentException("bytes_max must not be negative: " + bytesMax);
        }
        this.bytesMax = bytesMax;
        return this;
    }

    /**
     * Says how long the first record of a batch waits for others.
     *
     * @param linger the time
     * @return this
     */
    public ConsumerOptions linger(Duration linger) {
        this.linger = linger;
        return this;
    }

    long make(long coordinator, String participant) {
        return Native.consumer(
                coordinator,
                participant,
                group,
                topics.toArray(String[]::new),
                Words.word(reset),
                instance,
                recordsMax,
                bytesMax,
                Times.nanos(linger));
    }
}
