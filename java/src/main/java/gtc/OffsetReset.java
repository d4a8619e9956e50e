package gtc;

/** What a consumer does where the cluster does not have a position. */
public enum OffsetReset {
    /** It goes on at the first offset there is. */
    EARLIEST,

    /** It goes on behind the last offset there is. */
    LATEST,

    /** It stops with an error, until {@link TransactionalConsumer#resumeAt} says where to go on. */
    FAIL
}
