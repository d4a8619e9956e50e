package gtc;

/**
 * The thread was interrupted while it waited in a verb, which was given up: its interrupt status is
 * set again. A write that was given up half-way leaves a transaction that can only abort. Commits,
 * aborts and closing are never given up: they go on waiting, and leave the status set.
 */
public final class WaitInterruptedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    WaitInterruptedException() {
        super("interrupted while waiting");
    }
}
