package gtc;

import java.util.OptionalLong;

/**
 * How far a partition is behind.
 *
 * @param topic the topic
 * @param partition the partition
 * @param position the next offset to read, once it is known
 * @param end the end of what can be read
 */
public record Lag(String topic, int partition, OptionalLong position, long end) {}
