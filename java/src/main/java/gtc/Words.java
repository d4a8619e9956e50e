package gtc;

import java.util.Locale;

/** Words of the native side as constants, and back: {@code in-doubt} is {@code IN_DOUBT}. */
final class Words {
    static <E extends Enum<E>> E constant(Class<E> type, String word) {
        return Enum.valueOf(type, word.toUpperCase(Locale.ROOT).replace('-', '_'));
    }

    static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private Words() {}
}
