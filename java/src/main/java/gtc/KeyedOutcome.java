package gtc;

/**
 * The newest transaction with a key, and how it ended.
 *
 * @param id its id
 * @param outcome how it ended
 */
public record KeyedOutcome(String id, Outcome outcome) {}
