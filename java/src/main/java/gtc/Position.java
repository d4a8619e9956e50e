package gtc;

/**
 * The next offset to read of a partition.
 *
 * @param topic the topic
 * @param partition the partition
 * @param offset the next offset to read
 */
public record Position(String topic, int partition, long offset) {}
