package gtc;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Commits global transactions over its participants. Every thread may use it.
 *
 * <p>Verbs that may take a while come twice: one that waits, and one with a future. Cancelling such
 * a future, or interrupting the thread that waits, gives up what can be given up without harm, such
 * as a wait for records; a commit or an abort goes on.
 */
public final class Coordinator implements AutoCloseable {
    private final Handle handle;
    private final String id;

    private Coordinator(long number) {
        handle = Handle.of(this, number);
        id = Native.id(number);
    }

    private static Coordinator of(Object number) {
        return new Coordinator((Long) number);
    }

    /**
     * Opens the decision log, connects to the participants, and starts the recovery of what an
     * earlier start left open. New work may begin beside it.
     *
     * @param config the configuration
     * @return the coordinator
     * @throws GtcException.Config for the configuration
     * @throws GtcException.Log for the decision log, also where another process owns it
     * @throws GtcException.Fenced where another owner has taken it over
     */
    public static Coordinator open(Config config) {
        Objects.requireNonNull(config, "config");
        return of(Pending.await(start(config)));
    }

    /**
     * As {@link #open(Config)}, with a TOML file.
     *
     * @param file where it is
     * @return the coordinator
     */
    public static Coordinator open(Path file) {
        Objects.requireNonNull(file, "file");
        return open(Config.file(file));
    }

    /**
     * As {@link #open(Config)}, without waiting.
     *
     * @param config the configuration
     * @return the coordinator, once it is open
     */
    public static CompletableFuture<Coordinator> openAsync(Config config) {
        Objects.requireNonNull(config, "config");
        return Pending.future(() -> start(config), Coordinator::of);
    }

    private static long start(Config config) {
        return Native.open(config.kind(), config.text(), config.values());
    }

    /**
     * As {@link #check()}, without opening a coordinator; it needs no log.
     *
     * @param config the configuration
     * @param participants those to check; all if none is named
     * @return what was found
     * @throws GtcException.Config for the configuration, or an unknown participant
     */
    public static List<Finding> check(Config config, String... participants) {
        Objects.requireNonNull(config, "config");
        Arguments.elements(Arrays.asList(participants), "participants");
        Object found =
                Pending.await(
                        Native.check(
                                config.kind(), config.text(), config.values(), participants, null));
        return Raw.list(found, Raw::finding);
    }

    /**
     * Its id.
     *
     * @return the id in its configuration
     */
    public String id() {
        return id;
    }

    /**
     * Begins a transaction. A key of the application's lets it ask for the outcome after a crash;
     * with a time-out the transaction aborts by itself when it was not asked to commit in time.
     *
     * @param options its key and its time-out
     * @return the transaction, to be closed
     * @throws GtcException.Unavailable where a limit is reached
     * @throws GtcException.Closed after {@link #close()}
     */
    public GlobalTransaction begin(TransactionOptions options) {
        Objects.requireNonNull(options, "options");
        long begun = handle.use(this, it -> Native.begin(it, options.key(), options.timeoutNs()));
        return new GlobalTransaction(begun);
    }

    /**
     * As {@link #begin(TransactionOptions)}, without a key.
     *
     * @return the transaction, to be closed
     */
    public GlobalTransaction begin() {
        return begin(TransactionOptions.defaults());
    }

    /**
     * As {@link #begin(TransactionOptions)}, with a key of the application's.
     *
     * @param key the key, written as UTF-8
     * @return the transaction, to be closed
     */
    public GlobalTransaction begin(String key) {
        Objects.requireNonNull(key, "key");
        return begin(TransactionOptions.defaults().key(key));
    }

    /**
     * Makes a consumer of one participant, whose offsets can be sent into transactions. It reads
     * with read_committed, and commits nothing by itself.
     *
     * @param participant the participant
     * @param options what it reads, and how
     * @return the consumer, to be closed
     * @throws GtcException.Config for an unknown participant, or properties that do not work
     */
    public TransactionalConsumer consumer(String participant, ConsumerOptions options) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(options, "options");
        Object made = handle.use(this, it -> Pending.await(options.make(it, participant)));
        return new TransactionalConsumer((Long) made);
    }

    /**
     * As {@link #consumer}, without waiting.
     *
     * @param participant the participant
     * @param options what it reads, and how
     * @return the consumer, once it is made
     */
    public CompletableFuture<TransactionalConsumer> consumerAsync(
            String participant, ConsumerOptions options) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(options, "options");
        return Pending.future(
                () -> handle.use(this, it -> options.make(it, participant)),
                made -> new TransactionalConsumer((Long) made));
    }

    /**
     * Waits until no promised branch of this own producer is left. A restarted application calls it
     * before it initialises the producer again, which would abort a promised branch.
     *
     * @param participant the participant
     * @param transactionalId the producer's transactional.id
     */
    public void settle(String participant, String transactionalId) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(transactionalId, "transactionalId");
        handle.use(this, it -> Pending.await(Native.settle(it, participant, transactionalId)));
    }

    /**
     * As {@link #settle}, without waiting.
     *
     * @param participant the participant
     * @param transactionalId the producer's transactional.id
     * @return completed once it is settled
     */
    public CompletableFuture<Void> settleAsync(String participant, String transactionalId) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(transactionalId, "transactionalId");
        return Pending.future(
                () -> handle.use(this, it -> Native.settle(it, participant, transactionalId)));
    }

    /**
     * Tells how a transaction ended: committed, aborted, undecided, in-doubt, mixed or unknown.
     * Unknown is not aborted: a transaction that committed in one phase leaves no record.
     *
     * @param id the transaction
     * @return the outcome
     * @throws GtcException.Config for what is no id
     */
    public Outcome outcome(String id) {
        Objects.requireNonNull(id, "id");
        String word = handle.use(this, it -> Native.outcome(it, id));
        return Words.constant(Outcome.class, word);
    }

    /**
     * Finds the newest transaction with this key of the application's, and tells how it ended.
     *
     * @param key the key
     * @return the transaction, if there is one
     */
    public Optional<KeyedOutcome> outcomeByKey(byte[] key) {
        Objects.requireNonNull(key, "key");
        Object[] found = handle.use(this, it -> Native.outcomeByKey(it, key));
        return Optional.ofNullable(found)
                .map(
                        raw -> {
                            Outcome outcome = Words.constant(Outcome.class, (String) raw[1]);
                            return new KeyedOutcome((String) raw[0], outcome);
                        });
    }

    /**
     * As {@link #outcomeByKey(byte[])}.
     *
     * @param key the key, as UTF-8
     * @return the transaction, if there is one
     */
    public Optional<KeyedOutcome> outcomeByKey(String key) {
        Objects.requireNonNull(key, "key");
        return outcomeByKey(key.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Lists the transactions that are not ended, or ended otherwise than decided.
     *
     * @return the transactions
     */
    public List<TransactionInfo> list() {
        return Raw.list(handle.use(this, Native::list), Raw::transaction);
    }

    /**
     * Lists the transactions that need a hand: in doubt, or mixed. Empty when all is well.
     *
     * @return the transactions
     */
    public List<TransactionInfo> inDoubt() {
        return Raw.list(handle.use(this, Native::inDoubt), Raw::transaction);
    }

    /**
     * Describes one transaction with its branches, also an ended one within the retention.
     *
     * @param id the transaction
     * @return its description, if it is known
     */
    public Optional<TransactionInfo> describe(String id) {
        Objects.requireNonNull(id, "id");
        Object[] found = handle.use(this, it -> Native.describe(it, id));
        return Optional.ofNullable(found).map(raw -> Raw.transaction((Object[]) raw[0]));
    }

    /**
     * Lists open branches that another log left under this coordinator's id: in doubt until an
     * operator resolves them.
     *
     * @return the branches
     */
    public List<ForeignInfo> foreign() {
        return Raw.list(handle.use(this, Native::foreign), Raw::foreign);
    }

    /**
     * Ends a transaction that cannot end by itself. Commit: its branches are tried again now.
     * Abort: the open branches are given up, as a heuristic outcome.
     *
     * @param id the transaction
     * @param decision how to end it
     * @throws GtcException.InvalidState for one that has ended, or whose decision is another
     */
    public void resolve(String id, Decision decision) {
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(decision, "decision");
        handle.tell(this, it -> Native.resolve(it, id, Words.word(decision)));
    }

    /**
     * Ends an open branch of another log.
     *
     * @param participant the participant
     * @param transactionalId the branch's transactional.id
     * @param decision how to end it
     * @throws GtcException.InvalidState for a branch that is not listed
     */
    public void resolveForeign(String participant, String transactionalId, Decision decision) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(transactionalId, "transactionalId");
        Objects.requireNonNull(decision, "decision");
        String word = Words.word(decision);
        handle.use(
                this,
                it -> Pending.await(Native.resolveForeign(it, participant, transactionalId, word)));
    }

    /**
     * As {@link #resolveForeign}, without waiting.
     *
     * @param participant the participant
     * @param transactionalId the branch's transactional.id
     * @param decision how to end it
     * @return completed once it is ended
     */
    public CompletableFuture<Void> resolveForeignAsync(
            String participant, String transactionalId, Decision decision) {
        Objects.requireNonNull(participant, "participant");
        Objects.requireNonNull(transactionalId, "transactionalId");
        Objects.requireNonNull(decision, "decision");
        String word = Words.word(decision);
        return Pending.future(
                () ->
                        handle.use(
                                this,
                                it ->
                                        Native.resolveForeign(
                                                it, participant, transactionalId, word)));
    }

    /**
     * Stops listing a mixed outcome, once an operator has dealt with it.
     *
     * @param id the transaction
     * @throws GtcException.InvalidState for one without such an outcome
     */
    public void forget(String id) {
        Objects.requireNonNull(id, "id");
        handle.tell(this, it -> Native.forget(it, id));
    }

    /** Waits until everything that the log left open is ended. */
    public void recover() {
        handle.use(this, it -> Pending.await(Native.recover(it)));
    }

    /**
     * As {@link #recover}, without waiting.
     *
     * @return completed once it is ended
     */
    public CompletableFuture<Void> recoverAsync() {
        return Pending.future(() -> handle.use(this, Native::recover));
    }

    /**
     * Waits until a participant takes branches.
     *
     * @param participant the participant
     * @throws GtcException.Config for an unknown one
     */
    public void verified(String participant) {
        Objects.requireNonNull(participant, "participant");
        handle.use(this, it -> Pending.await(Native.verified(it, participant)));
    }

    /**
     * As {@link #verified}, without waiting.
     *
     * @param participant the participant
     * @return completed once it does
     */
    public CompletableFuture<Void> verifiedAsync(String participant) {
        Objects.requireNonNull(participant, "participant");
        return Pending.future(() -> handle.use(this, it -> Native.verified(it, participant)));
    }

    /**
     * Connects to each participant and tells what is missing for the guarantee, each with its
     * remedy.
     *
     * @return what was found
     */
    public List<Finding> check() {
        return checkParticipants();
    }

    /**
     * As {@link #check()}, for some participants.
     *
     * @param participants their names; all if none is named
     * @return what was found
     * @throws GtcException.Config for an unknown one
     */
    public List<Finding> checkParticipants(String... participants) {
        Arguments.elements(Arrays.asList(participants), "participants");
        Object found =
                handle.use(this, it -> Pending.await(Native.checkOpen(it, participants, null)));
        return Raw.list(found, Raw::finding);
    }

    /**
     * As {@link #checkParticipants}, without waiting.
     *
     * @param participants their names; all if none is named
     * @return what was found
     */
    public CompletableFuture<List<Finding>> checkAsync(String... participants) {
        Arguments.elements(Arrays.asList(participants), "participants");
        return Pending.future(
                () -> handle.use(this, it -> Native.checkOpen(it, participants, null)),
                found -> Raw.list(found, Raw::finding));
    }

    /**
     * Tells how the coordinator and its participants stand.
     *
     * @return its status
     */
    public Status status() {
        return Raw.status(handle.use(this, Native::status));
    }

    /**
     * Accepts nothing new, aborts what is undecided, waits for what is under way, closes the
     * consumers, and gives the log up. Closing twice does no harm.
     *
     * @throws GtcException.Timeout with the number of transactions that stay open, which the next
     *     start finishes
     * @throws GtcException.Log if its last write failed
     */
    @Override
    public void close() {
        handle.use(this, it -> Pending.awaitThrough(Native.close(it)));
    }

    /**
     * As {@link #close}, without waiting.
     *
     * @return completed once it is closed
     */
    public CompletableFuture<Void> closeAsync() {
        return Pending.future(() -> handle.use(this, Native::close));
    }
}
