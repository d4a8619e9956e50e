package gtc;

/** How an own producer ends its transactions. */
public enum VersionClass {
    /** Consecutive transactions share an identity: clients that build on librdkafka. */
    V1,

    /**
     * The identity moves with each transaction: Kafka's Java client from 4.0, on a cluster with
     * {@code transaction.version} 2.
     */
    V2
}
