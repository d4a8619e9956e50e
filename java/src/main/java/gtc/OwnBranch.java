package gtc;

import java.util.concurrent.CompletableFuture;

/**
 * The branch of an own producer. What it is told about the producer's deliveries is its vote: count
 * them, or state the result once; nothing said is a no. A flush proves nothing: some clients return
 * from it normally after a failed delivery.
 *
 * <p>For producers of Kafka's own client {@link OwnProducer} does all that. For others: only after
 * the transaction's outcome may the producer call its own commit or abort, which is then a harmless
 * repeat.
 */
public final class OwnBranch {
    private final Handle handle;
    /** Reachable for as long as the branch is: nothing is aborted that the application holds. */
    private final GlobalTransaction transaction;

    OwnBranch(GlobalTransaction transaction, long number) {
        this.transaction = transaction;
        handle = Handle.of(this, number);
    }

    /**
     * The transaction that it is a branch of.
     *
     * @return the transaction
     */
    public GlobalTransaction transaction() {
        return transaction;
    }

    /** Counts a record that was handed to the producer. */
    public void sent() {
        handle.tell(this, Native::sent);
    }

    /** Counts a record that was delivered. */
    public void delivered() {
        handle.tell(this, Native::delivered);
    }

    /**
     * Counts a record that was delivered to this partition, which the transaction at the broker has
     * to have.
     *
     * @param topic the topic
     * @param partition the partition
     */
    public void deliveredTo(String topic, int partition) {
        handle.tell(this, it -> Native.deliveredTo(it, topic, partition));
    }

    /**
     * Counts a record that was not delivered, or perhaps not.
     *
     * @param reason why, for people
     */
    public void failed(Object reason) {
        handle.tell(this, it -> Native.failed(it, String.valueOf(reason)));
    }

    /** States that all that was written is delivered, instead of counting. */
    public void stateDelivered() {
        handle.tell(this, Native::stateDelivered);
    }

    /**
     * States that something that was written is not delivered, or perhaps not.
     *
     * @param reason why, for people
     */
    public void stateFailed(Object reason) {
        handle.tell(this, it -> Native.stateFailed(it, String.valueOf(reason)));
    }

    /**
     * Waits until the branch is ended, and tells whether the producer may go on: reuse, or discard,
     * which means to close it and make a new one.
     *
     * @return whether it may
     * @throws GtcException.InDoubt if the branch is not ended when the transaction is for its
     *     caller: discard the producer, and settle its transactional.id before making a new one
     */
    public Reuse finished() {
        Object word = handle.use(this, it -> Pending.await(Native.finished(it)));
        return Words.constant(Reuse.class, (String) word);
    }

    /**
     * As {@link #finished}, without waiting.
     *
     * @return whether it may
     */
    public CompletableFuture<Reuse> finishedAsync() {
        return Pending.future(
                () -> handle.use(this, Native::finished),
                word -> Words.constant(Reuse.class, (String) word));
    }
}
