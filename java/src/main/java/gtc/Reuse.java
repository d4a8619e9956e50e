package gtc;

/** Whether an own producer may go on. */
public enum Reuse {
    /** It goes on with its next transaction. */
    REUSE,

    /** A request of it may still be under way: close it, and make a new one. */
    DISCARD
}
