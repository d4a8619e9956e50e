package gtc;

/** Whether asking again helps. */
public enum Retry {
    /** The same call fails again. */
    NEVER,

    /** The same call, or the whole transaction, may succeed later. */
    LATER,

    /** First learn the outcome, or have an operator settle it. */
    AFTER_RESOLVE;

    static Retry of(String word) {
        return Words.constant(Retry.class, word);
    }
}
