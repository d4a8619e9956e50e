package gtc;

/** How a transaction is to end. */
public enum Decision {
    /** Every branch commits. */
    COMMIT,

    /** Every branch aborts. */
    ABORT
}
