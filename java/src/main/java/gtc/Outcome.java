package gtc;

/** How a transaction ended, as far as is known. */
public enum Outcome {
    /** It committed on every participant, or will. */
    COMMITTED,

    /** It aborted on every participant; nothing of it is visible. */
    ABORTED,

    /** It is not decided yet. */
    UNDECIDED,

    /** It may have committed; the log or the clusters will tell. */
    IN_DOUBT,

    /** A branch ended otherwise than decided, or may have: the participants disagree, or nobody can tell. */
    MIXED,

    /** Nothing is known of it, which does not mean aborted. */
    UNKNOWN
}
