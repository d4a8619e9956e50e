package gtc;

/**
 * The native side, one method a verb. What it holds has a number, which {@link #free} gives back. A
 * verb that may take a while gives back the number of its result, or 0 where it has none and is
 * done; see {@link Pending}.
 */
final class Native {
    static {
        NativeLibrary.load();
    }

    static native void free(long handle);

    /** Whether the result is there within that time; else {@link #takeReady} tells. */
    static native boolean watch(long pending, int patienceUs);

    /** Waits until results are there, and gives back their numbers. */
    static native long[] takeReady();

    static native Object take(long pending);

    static native void giveUp(long pending);

    static native long open(int kind, String text, String[] values);

    static native long check(
            int kind, String text, String[] values, String[] participants, String group);

    static native String id(long coordinator);

    static native long begin(long coordinator, byte[] key, long timeoutNs);

    static native long consumer(
            long coordinator,
            String participant,
            String group,
            String[] topics,
            String reset,
            String instance,
            int recordsMax,
            long bytesMax,
            long lingerNs);

    static native long settle(long coordinator, String participant, String transactionalId);

    static native String outcome(long coordinator, String id);

    static native Object[] outcomeByKey(long coordinator, byte[] key);

    static native Object[] list(long coordinator);

    static native Object[] inDoubt(long coordinator);

    static native Object[] describe(long coordinator, String id);

    static native Object[] foreign(long coordinator);

    static native void resolve(long coordinator, String id, String decision);

    static native long resolveForeign(
            long coordinator, String participant, String transactionalId, String decision);

    static native void forget(long coordinator, String id);

    static native long recover(long coordinator);

    static native long verified(long coordinator, String participant);

    static native long checkOpen(long coordinator, String[] participants, String group);

    static native Object[] status(long coordinator);

    static native long close(long coordinator);

    static native String transactionId(long transaction);

    /** A record as {@link Packed}. */
    static native long send(long transaction, String participant, byte[] packed);

    /** So many records, as {@link Packed}. */
    static native long sendMany(long transaction, String participant, byte[] packed, int count);

    static native long sendOffsets(long transaction, long batch);

    static native long sendOffsetsOf(long transaction, long consumer);

    static native long enlist(
            long transaction,
            String participant,
            String transactionalId,
            String versionClass,
            long producerId,
            int epoch);

    static native long commit(long transaction, boolean atDecision);

    static native long abort(long transaction, String reason);

    static native long closeTransaction(long transaction);

    static native void sent(long branch);

    static native void delivered(long branch);

    static native void deliveredTo(long branch, String topic, int partition);

    static native void failed(long branch, String reason);

    static native void stateDelivered(long branch);

    static native void stateFailed(long branch, String reason);

    static native long finished(long branch);

    static native String participant(long consumer);

    static native long next(long consumer, long timeoutNs);

    static native Object[] lag(long consumer);

    static native boolean isCaughtUp(long consumer);

    static native Object[] notices(long consumer);

    static native long resumeAt(long consumer, String topic, int partition, long offset);

    static native long closeConsumer(long consumer);

    static native boolean isStale(long batch);

    /** Throws an error of the native side, which calls it. */
    @SuppressWarnings("unused")
    private static void raise(
            int code,
            String retry,
            String message,
            String operation,
            String participant,
            String transaction,
            String problem,
            String remedy) {
        throw GtcException.of(
                code,
                new GtcException.Details(
                        message,
                        Retry.of(retry),
                        operation,
                        participant,
                        transaction,
                        problem,
                        remedy));
    }

    private Native() {}
}
