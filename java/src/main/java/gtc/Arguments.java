package gtc;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** Arguments of callers, checked before anything is begun. */
final class Arguments {
    /** The elements of a list, none of which is null. */
    static <T> List<T> elements(List<T> list, String what) {
        int index = 0;
        for (T element : list) {
            int at = index++;
            Objects.requireNonNull(element, () -> what + "[" + at + "]");
        }
        return List.copyOf(list);
    }

    /** A value of a configuration as text: of any other object the text would be an accident. */
    static String setting(String key, Object value) {
        Objects.requireNonNull(value, () -> "the value of " + key);
        if (value instanceof CharSequence
                || value instanceof Number
                || value instanceof Boolean
                || value instanceof Path) {
            return value.toString();
        }
        throw new IllegalArgumentException(
                key + ": text, a number, a boolean or a path is wanted, and not "
                        + value.getClass().getName());
    }

    private Arguments() {}
}
