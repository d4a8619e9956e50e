package gtc;

import java.lang.reflect.Field;

/**
 * The producer id and epoch that a broker gave a producer. Kafka's client shows them to nobody, so
 * that they are read where it keeps them; of any other producer nothing is known.
 *
 * @param producerId the producer id, or -1
 * @param epoch the epoch, or -1
 */
record Identity(long producerId, int epoch) {
    /** Nothing is known. */
    static final Identity UNKNOWN = new Identity(-1, -1);

    private static final String CLIENT = "org.apache.kafka.clients.producer.KafkaProducer";

    /**
     * That of a producer of Kafka's own client, whose classes need not be there.
     *
     * @param producer the producer
     * @return its identity, unknown of one that is wrapped
     */
    static Identity of(Object producer) {
        Class<?> type = producer.getClass();
        while (type != null && !type.getName().equals(CLIENT)) {
            type = type.getSuperclass();
        }
        if (type == null) {
            return UNKNOWN;
        }
        try {
            Object transactions = hidden(type, "transactionManager", producer);
            Object identity = hidden(transactions.getClass(), "producerIdAndEpoch", transactions);
            Class<?> pair = identity.getClass();
            return new Identity(
                    pair.getField("producerId").getLong(identity),
                    pair.getField("epoch").getShort(identity));
        } catch (ReflectiveOperationException | RuntimeException unknown) {
            return UNKNOWN;
        }
    }

    private static Object hidden(Class<?> type, String name, Object of)
            throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }
}
