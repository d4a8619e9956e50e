package gtc;

/**
 * A header of a record.
 *
 * @param name the name, which may come twice
 * @param value the value; null differs from empty
 */
public record Header(String name, byte[] value) {}
