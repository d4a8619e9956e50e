package gtc;

import java.util.List;

/**
 * Something that happened beside the batches.
 *
 * @param kind what kind of thing
 * @param text what happened, for people
 * @param partitions the partitions concerned
 */
public record Notice(Kind kind, String text, List<Partition> partitions) {
    /** What kind of thing happened. */
    public enum Kind {
        /** These partitions are read from now on. */
        ASSIGNED,

        /** No partition is read any more; every batch is stale. */
        REVOKED,

        /** The cluster no longer has a position: records were lost, or the partition is another. */
        OUT_OF_RANGE,

        /** The cluster refuses something, or a topic is missing. Reading goes on where it can. */
        TROUBLE
    }

    /**
     * A partition.
     *
     * @param topic the topic
     * @param number its number
     */
    public record Partition(String topic, int number) {}
}
