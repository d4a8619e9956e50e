package gtc;

import java.util.Objects;

/**
 * A header of a record.
 *
 * @param name the name, which may come twice
 * @param value the value; null differs from empty
 */
public record Header(String name, byte[] value) {
    /**
     * Refuses null as a name.
     *
     * @param name the name
     * @param value the value
     */
    public Header {
        Objects.requireNonNull(name, "name");
    }
}
