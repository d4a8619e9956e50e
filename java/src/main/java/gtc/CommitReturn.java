package gtc;

/** When a commit returns. */
public enum CommitReturn {
    /** When every branch has acknowledged. */
    ACKNOWLEDGED,

    /**
     * When the decision is durable: readers may see the records a moment later. With an own
     * producer it returns after the acknowledgements all the same.
     */
    DECIDED
}
