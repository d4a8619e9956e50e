package gtc;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.apache.kafka.clients.producer.Producer;

/**
 * A global transaction. In a try statement with resources it aborts at the end unless it was asked
 * to commit. Several threads may write at once: a commit waits for the writes under way, an abort
 * makes them give up. Once a write was given up half-way, by an interrupt for example, the
 * transaction can only abort.
 */
public final class GlobalTransaction implements AutoCloseable {
    private static final String CLOSED = "closed undecided";

    private final Handle handle;
    private final String id;
    private final List<Enlisted> own = new ArrayList<>();
    /** Whether its end was asked for; {@link #own} is its lock. */
    private boolean ending;

    GlobalTransaction(long number) {
        handle = Handle.of(this, number);
        id = Native.transactionId(number);
    }

    /**
     * Its id: keep it where the outcome may have to be asked for.
     *
     * @return such as {@code 3-17}
     */
    public String id() {
        return id;
    }

    /**
     * Sends a record to a participant, which joins the transaction by that. Waits for a free slot,
     * and while the producer's queue is full; does not wait for the delivery.
     *
     * @param participant the participant
     * @param record the record
     * @throws GtcException.Config for an unknown participant
     * @throws GtcException.Unavailable where the participant takes no work now
     * @throws GtcException.InvalidState after the end
     */
    public void send(String participant, OutgoingRecord record) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(record, "record");
        use(it -> Pending.await(send(it, participant, record)));
    }

    /**
     * As {@link #send}, without waiting.
     *
     * @param participant the participant
     * @param record the record
     * @return completed once the producer has it
     */
    public CompletableFuture<Void> sendAsync(String participant, OutgoingRecord record) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(record, "record");
        return Pending.future(() -> use(it -> send(it, participant, record)));
    }

    private static long send(long number, String participant, OutgoingRecord record) {
        return Native.send(number, participant, Packed.of(record));
    }

    /**
     * Sends records to a participant, in their order. If one is refused, the later ones are not
     * sent.
     *
     * @param participant the participant
     * @param records the records, which cross into the native side in one call
     */
    public void sendMany(String participant, List<OutgoingRecord> records) {
        Objects.requireNonNull(participant, "participant");
        List<OutgoingRecord> all = Arguments.elements(records, "records");
        use(it -> Pending.await(send(it, participant, all)));
    }

    /**
     * As {@link #sendMany}, without waiting.
     *
     * @param participant the participant
     * @param records the records
     * @return completed once the producer has them
     */
    public CompletableFuture<Void> sendManyAsync(String participant, List<OutgoingRecord> records) {
        Objects.requireNonNull(participant, "participant");
        List<OutgoingRecord> all = Arguments.elements(records, "records");
        return Pending.future(() -> use(it -> send(it, participant, all)));
    }

    private static long send(long number, String participant, List<OutgoingRecord> records) {
        return Native.sendMany(number, participant, Packed.of(records), records.size());
    }

    /**
     * Moves the consumer's group behind the batch when the transaction commits. The batch is done
     * with that; if the transaction aborts, its records are read again.
     *
     * @param batch the batch
     * @throws GtcException.Config for a batch of a consumer of another coordinator
     * @throws GtcException.InvalidState where its offsets were sent before, or its records are
     *     read again
     */
    public void sendOffsets(Batch batch) {
        Objects.requireNonNull(batch, "batch");
        use(it -> Pending.await(sendOffsets(it, batch)));
    }

    /**
     * As {@link #sendOffsets(Batch)}, without waiting.
     *
     * @param batch the batch
     * @return completed once they are sent
     */
    public CompletableFuture<Void> sendOffsetsAsync(Batch batch) {
        Objects.requireNonNull(batch, "batch");
        return Pending.future(() -> use(it -> sendOffsets(it, batch)));
    }

    private static long sendOffsets(long number, Batch batch) {
        return batch.handle().use(batch, it -> Native.sendOffsets(number, it));
    }

    /**
     * As {@link #sendOffsets(Batch)}, for the batch that the consumer has handed out last.
     *
     * @param consumer the consumer
     */
    public void sendOffsets(TransactionalConsumer consumer) {
        Objects.requireNonNull(consumer, "consumer");
        use(it -> Pending.await(sendOffsets(it, consumer)));
    }

    /**
     * As {@link #sendOffsets(TransactionalConsumer)}, without waiting.
     *
     * @param consumer the consumer
     * @return completed once they are sent
     */
    public CompletableFuture<Void> sendOffsetsAsync(TransactionalConsumer consumer) {
        Objects.requireNonNull(consumer, "consumer");
        return Pending.future(() -> use(it -> sendOffsets(it, consumer)));
    }

    private static long sendOffsets(long number, TransactionalConsumer consumer) {
        return consumer.handle().use(consumer, it -> Native.sendOffsetsOf(number, it));
    }

    /**
     * Takes an own producer of the application in, before it begins its transaction. What is told
     * to the returned branch about its deliveries is its vote, and silence is a no.
     *
     * <p>This is for producers of any client; for those of Kafka's own there is {@link
     * #enlist(String, Producer, String)}.
     *
     * @param participant the participant
     * @param transactionalId the producer's transactional.id
     * @param versionClass how the producer ends its transactions on that cluster
     * @return its branch
     * @throws GtcException.Config for a class that the cluster does not have
     * @throws GtcException.InvalidState for a producer that has a transaction open, or was to be
     *     discarded
     */
    public OwnBranch enlist(String participant, String transactionalId, VersionClass versionClass) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(transactionalId, "transactionalId");
        Objects.requireNonNull(versionClass, "versionClass");
        return branch(participant, transactionalId, Words.word(versionClass), Identity.UNKNOWN);
    }

    /**
     * As {@link #enlist(String, String, VersionClass)}, without waiting.
     *
     * @param participant the participant
     * @param transactionalId the producer's transactional.id
     * @param versionClass how the producer ends its transactions on that cluster
     * @return its branch
     */
    public CompletableFuture<OwnBranch> enlistAsync(
            String participant, String transactionalId, VersionClass versionClass) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(transactionalId, "transactionalId");
        Objects.requireNonNull(versionClass, "versionClass");
        String word = Words.word(versionClass);
        return Pending.future(
                () -> enlist(participant, transactionalId, word, Identity.UNKNOWN),
                branch -> new OwnBranch(this, (Long) branch));
    }

    /**
     * Takes a producer of Kafka's own client (4.0 and newer) in, after its {@code
     * beginTransaction()} and before its first write. Write through what this gives back, so that
     * every delivery counts for the vote. {@link #commit} flushes it before the vote; once its
     * branch is ended it calls the producer's own {@code commitTransaction()} or {@code
     * abortTransaction()}, so that the producer goes on with the next transaction.
     *
     * @param <K> the type of keys
     * @param <V> the type of values
     * @param participant the participant
     * @param producer the producer, which stays the application's
     * @param transactionalId its transactional.id
     * @return what to write through
     * @throws GtcException.InvalidState for a producer that has written already, was to be
     *     discarded, or is not the one that the cluster has under that transactional.id
     */
    public <K, V> OwnProducer<K, V> enlist(
            String participant, Producer<K, V> producer, String transactionalId) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(producer, "producer");
        Objects.requireNonNull(transactionalId, "transactionalId");
        return enlisted(
                producer, branch(participant, transactionalId, null, Identity.of(producer)));
    }

    /**
     * As {@link #enlist(String, Producer, String)}, where the class of the producer is not the
     * newest that the cluster has: it was made before {@code transaction.version} was raised.
     *
     * @param <K> the type of keys
     * @param <V> the type of values
     * @param participant the participant
     * @param producer the producer, which stays the application's
     * @param transactionalId its transactional.id
     * @param versionClass how the producer ends its transactions on that cluster
     * @return what to write through
     */
    public <K, V> OwnProducer<K, V> enlist(
            String participant,
            Producer<K, V> producer,
            String transactionalId,
            VersionClass versionClass) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(producer, "producer");
        Objects.requireNonNull(transactionalId, "transactionalId");
        Objects.requireNonNull(versionClass, "versionClass");
        String word = Words.word(versionClass);
        return enlisted(
                producer, branch(participant, transactionalId, word, Identity.of(producer)));
    }

    private OwnBranch branch(
            String participant, String transactionalId, String versionClass, Identity identity) {
        long pending = enlist(participant, transactionalId, versionClass, identity);
        return new OwnBranch(this, (Long) Pending.await(pending));
    }

    private long enlist(
            String participant, String transactionalId, String versionClass, Identity identity) {
        return use(
                it ->
                        Native.enlist(
                                it,
                                participant,
                                transactionalId,
                                versionClass,
                                identity.producerId(),
                                identity.epoch()));
    }

    private <K, V> OwnProducer<K, V> enlisted(Producer<K, V> producer, OwnBranch branch) {
        OwnProducer<K, V> enlisted = new OwnProducer<>(producer, branch);
        synchronized (own) {
            if (ending) {
                throw over();
            }
            own.add(enlisted);
        }
        return enlisted;
    }

    /**
     * Commits on every participant, or on none. Waits for all deliveries, and for the last
     * acknowledgement. In doubt means that it may have committed: ask for the outcome before
     * running it again.
     *
     * @return the id
     * @throws GtcException.Aborted nothing is visible
     * @throws GtcException.InDoubt it may have committed
     * @throws GtcException.Heuristic a branch ended otherwise than decided
     * @throws GtcException.InvalidState its end was asked for before
     */
    public String commit() {
        return commit(CommitReturn.ACKNOWLEDGED);
    }

    /**
     * As {@link #commit()}, and says when to return.
     *
     * @param report when
     * @return the id
     */
    public String commit(CommitReturn report) {
        Objects.requireNonNull(report, "report");
        return commitWith(end(), report);
    }

    /**
     * As {@link #commit()}, without waiting.
     *
     * @return the id
     */
    public CompletableFuture<String> commitAsync() {
        return commitAsync(CommitReturn.ACKNOWLEDGED);
    }

    /**
     * As {@link #commit(CommitReturn)}, without waiting.
     *
     * @param report when to complete
     * @return the id
     */
    public CompletableFuture<String> commitAsync(CommitReturn report) {
        Objects.requireNonNull(report, "report");
        return ended(
                producers -> {
                    if (!producers.isEmpty()) {
                        return Blocking.call(() -> commitWith(producers, report));
                    }
                    return Pending.future(() -> commitVerb(report), id -> (String) id)
                            .whenComplete((id, error) -> handle.release());
                });
    }

    private long commitVerb(CommitReturn report) {
        return use(it -> Native.commit(it, report == CommitReturn.DECIDED));
    }

    private String commitWith(List<Enlisted> producers, CommitReturn report) {
        producers.forEach(Enlisted::prepare);
        try {
            String committed = (String) Pending.awaitThrough(commitVerb(report));
            producers.forEach(producer -> producer.end(Decision.COMMIT));
            return committed;
        } catch (GtcException.Aborted aborted) {
            producers.forEach(producer -> producer.end(Decision.ABORT));
            throw aborted;
        } finally {
            // Those whose end is not known.
            producers.forEach(Enlisted::discardUnlessEnded);
            handle.release();
        }
    }

    /**
     * Aborts on every participant, and waits until all have done so. Deliveries that an own producer
     * counts as open are waited for first: whether it may go on rests on them.
     *
     * @param reason why, for people
     * @throws GtcException.InvalidState its end was asked for before
     */
    public void abort(String reason) {
        Objects.requireNonNull(reason, "reason");
        abortWith(end(), reason);
    }

    /** As {@link #abort(String)}, without a reason. */
    public void abort() {
        abort("the application aborted");
    }

    /**
     * As {@link #abort(String)}, without waiting.
     *
     * @param reason why, for people
     * @return completed once all have done so
     */
    public CompletableFuture<Void> abortAsync(String reason) {
        Objects.requireNonNull(reason, "reason");
        return ended(producers -> abortWithAsync(producers, reason));
    }

    private CompletableFuture<Void> abortWithAsync(List<Enlisted> producers, String reason) {
        if (!producers.isEmpty()) {
            return Blocking.call(
                    () -> {
                        abortWith(producers, reason);
                        return null;
                    });
        }
        return Pending.future(() -> use(it -> Native.abort(it, reason)))
                .whenComplete((nothing, error) -> handle.release());
    }

    private void abortWith(List<Enlisted> producers, String reason) {
        producers.forEach(Enlisted::withdraw);
        try {
            use(it -> Pending.awaitThrough(Native.abort(it, reason)));
            producers.forEach(producer -> producer.end(Decision.ABORT));
        } finally {
            producers.forEach(Enlisted::discardUnlessEnded);
            handle.release();
        }
    }

    /**
     * Aborts the transaction if it was not asked to commit or abort; else does nothing.
     *
     * @throws GtcException as {@link #abort(String)}, if it has to abort
     */
    @Override
    public void close() {
        if (!isEnding()) {
            abort(CLOSED);
        }
    }

    /**
     * As {@link #close}, without waiting.
     *
     * @return completed once it is aborted, or at once
     */
    public CompletableFuture<Void> closeAsync() {
        return isEnding() ? CompletableFuture.completedFuture(null) : abortAsync(CLOSED);
    }

    private boolean isEnding() {
        synchronized (own) {
            return ending;
        }
    }

    /** Begins the end, and tells which own producers take part. */
    private List<Enlisted> end() {
        synchronized (own) {
            if (ending) {
                throw over();
            }
            ending = true;
            return List.copyOf(own);
        }
    }

    private <T> CompletableFuture<T> ended(Function<List<Enlisted>, CompletableFuture<T>> verb) {
        try {
            return verb.apply(end());
        } catch (GtcException error) {
            return CompletableFuture.failedFuture(error);
        }
    }

    private <T> T use(LongFunction<T> verb) {
        if (handle.isReleased()) {
            throw over();
        }
        return handle.use(this, verb);
    }

    private GtcException over() {
        String problem = "its end was asked for before";
        String remedy = "ask for its outcome, or begin another transaction";
        return GtcException.of(
                ErrorKind.INVALID_STATE.code(),
                new GtcException.Details(
                        "invalid-state: transaction "
                                + id
                                + ": "
                                + problem
                                + "; remedy: "
                                + remedy,
                        Retry.NEVER,
                        "use transaction",
                        null,
                        id,
                        problem,
                        remedy));
    }
}
