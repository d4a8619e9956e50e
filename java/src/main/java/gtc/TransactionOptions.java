package gtc;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;

/** How a transaction begins. */
public final class TransactionOptions {
    private static final TransactionOptions DEFAULT = new TransactionOptions(null, null);

    private final byte[] key;
    private final Duration timeout;

    private TransactionOptions(byte[] key, Duration timeout) {
        this.key = key;
        this.timeout = timeout;
    }

    /**
     * Without a key, and without a time-out of its own.
     *
     * @return the options
     */
    public static TransactionOptions defaults() {
        return DEFAULT;
    }

    /**
     * With a key of the application's, to ask for the outcome by after a crash.
     *
     * @param key the key
     * @return the options with it
     */
    public TransactionOptions key(byte[] key) {
        Objects.requireNonNull(key, "key");
        return new TransactionOptions(key.clone(), timeout);
    }

    /**
     * With a key of the application's, written as UTF-8.
     *
     * @param key the key
     * @return the options with it
     */
    public TransactionOptions key(String key) {
        Objects.requireNonNull(key, "key");
        return new TransactionOptions(key.getBytes(StandardCharsets.UTF_8), timeout);
    }

    /**
     * With a time after which the transaction aborts by itself when it was not asked to commit.
     *
     * @param timeout the time
     * @return the options with it
     */
    public TransactionOptions timeout(Duration timeout) {
        return new TransactionOptions(key, timeout);
    }

    byte[] key() {
        return key;
    }

    long timeoutNs() {
        return Times.nanos(timeout);
    }
}
