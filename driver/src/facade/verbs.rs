//! What the verbs of the façade mean, in one table for all languages.

/// One verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verb {
    /// What it is a verb of: `coordinator`, `transaction`, `consumer`, `batch`, `own_branch`.
    pub object: &'static str,
    /// Its name, in snake case.
    pub name: &'static str,
    /// What it does, as every language's documentation says it: plain text, one paragraph a line.
    pub doc: &'static str,
}

/// Makes the table, and the macro `meaning!(object verb)` that puts its text above the Rust items.
macro_rules! verbs {
    ($($object:ident $name:ident: $($line:literal)+;)*) => {
        /// Every verb with its meaning. The documentation of each language has the same words,
        /// which the tests of the generator check.
        pub const VERBS: &[Verb] = &[$(Verb {
            object: stringify!($object),
            name: stringify!($name),
            doc: concat!($($line),+),
        },)*];

        macro_rules! meaning {
            $(($object $name) => { concat!($($line),+) };)*
        }
        pub(super) use meaning;
    };
}

verbs! {
    coordinator open:
        "Opens the decision log, connects to the participants, and starts the recovery of what an "
        "earlier start left open. New work may begin beside it.";
    coordinator begin:
        "Begins a transaction. A key of the application's lets it ask for the outcome after a "
        "crash; with a time-out the transaction aborts by itself when it was not asked to commit "
        "in time.";
    coordinator consumer:
        "Makes a consumer of one participant, whose offsets can be sent into transactions. It "
        "reads with read_committed, and commits nothing by itself.";
    coordinator settle:
        "Waits until no promised branch of this own producer is left. A restarted application "
        "calls it before it initialises the producer again, which would abort a promised branch.";
    coordinator outcome:
        "Tells how a transaction ended: committed, aborted, undecided, in-doubt, mixed or unknown. "
        "Unknown is not aborted: a transaction that committed in one phase leaves no record.";
    coordinator outcome_by_key:
        "Finds the newest transaction with this key of the application's, and tells how it ended.";
    coordinator list:
        "Lists the transactions that are not ended, or ended otherwise than decided.";
    coordinator in_doubt:
        "Lists the transactions that need a hand: in doubt, or mixed. Empty when all is well.";
    coordinator describe:
        "Describes one transaction with its branches, also an ended one within the retention.";
    coordinator foreign:
        "Lists open branches that another log left under this coordinator's id: in doubt until an "
        "operator resolves them.";
    coordinator resolve:
        "Ends a transaction that cannot end by itself. Commit: its branches are tried again now. "
        "Abort: the open branches are given up, as a heuristic outcome.";
    coordinator resolve_foreign:
        "Ends an open branch of another log.";
    coordinator forget:
        "Stops listing a mixed outcome, once an operator has dealt with it.";
    coordinator recover:
        "Waits until everything that the log left open is ended.";
    coordinator verified:
        "Waits until a participant takes branches.";
    coordinator check:
        "Connects to each participant and tells what is missing for the guarantee, each with its "
        "remedy.";
    coordinator status:
        "Tells how the coordinator and its participants stand.";
    coordinator close:
        "Accepts nothing new, aborts what is undecided, waits for what is under way, closes the "
        "consumers, and gives the log up. Closing twice does no harm.";
    transaction send:
        "Sends a record to a participant, which joins the transaction by that. Waits for a free "
        "slot, and while the producer's queue is full; does not wait for the delivery.";
    transaction send_many:
        "Sends records to a participant, in their order. If one is refused, the later ones are not "
        "sent.";
    transaction send_offsets:
        "Moves the consumer's group behind the batch when the transaction commits. The batch is "
        "done with that; if the transaction aborts, its records are read again.";
    transaction enlist:
        "Takes an own producer of the application in, before it begins its transaction. What is "
        "told to the returned branch about its deliveries is its vote, and silence is a no.";
    transaction commit:
        "Commits on every participant, or on none. Waits for all deliveries, and for the last "
        "acknowledgement. In doubt means that it may have committed: ask for the outcome before "
        "running it again.";
    transaction abort:
        "Aborts on every participant, and waits until all have done so. Deliveries that an own "
        "producer counts as open are waited for first: whether it may go on rests on them.";
    transaction close:
        "Aborts the transaction if it was not asked to commit or abort; else does nothing.";
    consumer next:
        "Waits for the next batch, or until the time-out passes. A batch whose offsets were not "
        "sent is read again: nothing is skipped.";
    consumer lag:
        "Tells how far each assigned partition is behind, as of the last statistics.";
    consumer is_caught_up:
        "Whether everything that can be read now was handed out.";
    consumer notices:
        "Hands out what happened beside the batches: partitions assigned or revoked, records lost, "
        "requests refused.";
    consumer resume_at:
        "Goes on at an offset with a partition whose position the cluster no longer has.";
    consumer close:
        "Leaves the group and ends the consumer. Closing twice does no harm.";
    batch positions:
        "The next offset to read of each partition that the batch moved.";
    batch is_stale:
        "Whether its offsets would be refused: the group has rebalanced, or an earlier batch is "
        "read again.";
    own_branch sent:
        "Counts a record that was handed to the producer.";
    own_branch delivered:
        "Counts a record that was delivered.";
    own_branch delivered_to:
        "Counts a record that was delivered to this partition, which the transaction at the broker "
        "has to have.";
    own_branch failed:
        "Counts a record that was not delivered, or perhaps not.";
    own_branch state_delivered:
        "States that all that was written is delivered, instead of counting.";
    own_branch state_failed:
        "States that something that was written is not delivered, or perhaps not.";
    own_branch finished:
        "Waits until the branch is ended, and tells whether the producer may go on: reuse, or "
        "discard, which means to close it and make a new one.";
}
