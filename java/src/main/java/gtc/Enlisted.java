package gtc;

/**
 * What a transaction asks of an own producer. Nothing of Kafka's client is named here: without own producers an application
 * need not have it.
 */
abstract class Enlisted {
    /** Takes no more records, and waits for the calls under way. */
    abstract void refuse();

    /** Before the vote. */
    abstract void prepare();

    /** Before an abort. */
    abstract void withdraw();

    /** After the outcome. */
    abstract void end(Decision decision);

    /** Where the outcome is not known. */
    abstract void discardUnlessEnded();
}
