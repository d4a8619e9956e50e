/**
 * One transaction over many Kafka clusters: on all of them, or on none.
 *
 * <p>{@link gtc.Coordinator#open} opens a coordinator, {@link gtc.Coordinator#begin} a transaction
 * over its participants. Errors are {@link gtc.GtcException}, with a subclass a kind. A producer of
 * Kafka's own client takes part by {@link gtc.GlobalTransaction#enlist(String,
 * org.apache.kafka.clients.producer.Producer, String)}.
 */
package gtc;
