package gtc;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/**
 * A consumer whose offsets travel inside global transactions. It hands out one batch after the
 * other, to one thread at a time; its other methods are for every thread.
 */
public final class TransactionalConsumer implements AutoCloseable {
    private final Handle handle;
    private final String participant;
    /** The batch that was handed out last: its offsets can be sent until the next is asked for. */
    private volatile Batch current;

    TransactionalConsumer(long number) {
        handle = Handle.of(this, number);
        participant = Native.participant(number);
    }

    /**
     * The participant it reads from.
     *
     * @return its name
     */
    public String participant() {
        return participant;
    }

    /**
     * Waits for the next batch, or until the time-out passes. A batch whose offsets were not sent
     * is read again: nothing is skipped.
     *
     * @param timeout how long to wait
     * @return the batch; null when the time has passed
     * @throws GtcException.Closed after {@link #close()}
     * @throws GtcException.InDoubt where a transaction with offsets of this consumer has not told
     *     how it ended: close it, and make a new one, which waits for the outcome
     * @throws GtcException.InvalidState where a partition waits for {@link #resumeAt}
     */
    public Batch next(Duration timeout) {
        long timeoutNs = Times.nanos(timeout);
        return handedOut(handle.use(this, it -> Pending.await(ask(it, timeoutNs))));
    }

    /**
     * As {@link #next(Duration)}, for as long as it takes.
     *
     * @return the batch
     */
    public Batch next() {
        return next(null);
    }

    /**
     * As {@link #next(Duration)}, without waiting.
     *
     * @param timeout after how long to give up; null for never
     * @return the batch, or null
     */
    public CompletableFuture<Batch> nextAsync(Duration timeout) {
        long timeoutNs = Times.nanos(timeout);
        return Pending.future(
                () -> handle.use(this, it -> ask(it, timeoutNs)), this::handedOut);
    }

    private long ask(long number, long timeoutNs) {
        Batch before = current;
        if (before != null) {
            // Its records are Java's, and its offsets cannot be sent any more.
            before.handle().release();
            current = null;
        }
        return Native.next(number, timeoutNs);
    }

    private Batch handedOut(Object raw) {
        Batch batch = raw == null ? null : new Batch((Object[]) raw);
        current = batch;
        return batch;
    }

    /**
     * Tells how far each assigned partition is behind, as of the last statistics.
     *
     * @return the partitions; none before the first statistics, and after its end
     */
    public List<Lag> lag() {
        return Raw.list(handle.use(this, Native::lag), Raw::lag);
    }

    /**
     * Whether everything that can be read now was handed out. Ask after {@link #next(Duration)} has
     * found nothing: records may be on their way to it.
     *
     * @return whether it was
     */
    public boolean isCaughtUp() {
        return handle.use(this, Native::isCaughtUp);
    }

    /**
     * Hands out what happened beside the batches: partitions assigned or revoked, records lost,
     * requests refused.
     *
     * @return what happened since the last call
     */
    public List<Notice> notices() {
        return Raw.list(handle.use(this, Native::notices), Raw::notice);
    }

    /**
     * Goes on at an offset with a partition whose position the cluster no longer has.
     *
     * @param topic the topic
     * @param partition the partition
     * @param offset the next offset to read
     */
    public void resumeAt(String topic, int partition, long offset) {
        Objects.requireNonNull(topic, "topic");
        handle.use(this, it -> Pending.await(Native.resumeAt(it, topic, partition, offset)));
    }

    /**
     * As {@link #resumeAt}, without waiting.
     *
     * @param topic the topic
     * @param partition the partition
     * @param offset the next offset to read
     * @return completed once it has gone on
     */
    public CompletableFuture<Void> resumeAtAsync(String topic, int partition, long offset) {
        Objects.requireNonNull(topic, "topic");
        return Pending.future(
                () -> handle.use(this, it -> Native.resumeAt(it, topic, partition, offset)));
    }

    /** Leaves the group and ends the consumer. Closing twice does no harm. */
    @Override
    public void close() {
        handle.use(this, it -> Pending.awaitThrough(Native.closeConsumer(it)));
    }

    /**
     * As {@link #close}, without waiting.
     *
     * @return completed once it is closed
     */
    public CompletableFuture<Void> closeAsync() {
        return Pending.future(() -> handle.use(this, Native::closeConsumer));
    }

    Handle handle() {
        return handle;
    }
}
