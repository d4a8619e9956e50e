package gtc;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Where a configuration comes from: a TOML file, the text of one, or values. In a file and in text
 * {@code ${NAME}} stands for an environment variable; values stand for themselves.
 */
public final class Config {
    private static final int FILE = 0;
    private static final int TOML = 1;
    private static final int VALUES = 2;

    private final int kind;
    private final String text;
    private final String[] values;

    private Config(int kind, String text, String[] values) {
        this.kind = kind;
        this.text = text;
        this.values = values;
    }

    /**
     * A TOML file, which is read when a coordinator is opened.
     *
     * @param path where it is
     * @return the configuration
     */
    public static Config file(Path path) {
        Objects.requireNonNull(path, "path");
        return new Config(FILE, path.toString(), new String[0]);
    }

    /**
     * TOML text.
     *
     * @param text the text
     * @return the configuration
     */
    public static Config toml(String text) {
        Objects.requireNonNull(text, "text");
        return new Config(TOML, text, new String[0]);
    }

    /**
     * Values, by the keys of {@link ConfigKeys}.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    int kind() {
        return kind;
    }

    String text() {
        return text;
    }

    /** Keys and values by turns. */
    String[] values() {
        return values;
    }

    /** Without its values, which may hold passwords. */
    @Override
    public String toString() {
        return kind == FILE ? "Config(" + text + ")" : "Config(hidden)";
    }

    /** Collects the values of a configuration. */
    public static final class Builder {
        private final Map<String, String> values = new LinkedHashMap<>();

        private Builder() {}

        /**
         * Sets a value of the coordinator or its limits.
         *
         * @param key one of {@link ConfigKeys}
         * @param value text, a number, a boolean or a path
         * @return this
         */
        public Builder set(String key, Object value) {
            Objects.requireNonNull(key, "key");
            values.put(key, Arguments.setting(key, value));
            return this;
        }

        /**
         * Adds a participant.
         *
         * @param name its name
         * @param settings keys of gtc's own ({@code PARTICIPANT_...} of {@link ConfigKeys}), and
         *     properties of librdkafka
         * @return this
         */
        public Builder participant(String name, Map<String, ?> settings) {
            Objects.requireNonNull(name, "name");
            Objects.requireNonNull(settings, "settings");
            settings.forEach((key, value) -> set("participants." + name + "." + key, value));
            return this;
        }

        /**
         * The configuration, which is checked when a coordinator is opened.
         *
         * @return the configuration
         */
        public Config build() {
            List<String> pairs = new ArrayList<>();
            values.forEach(
                    (key, value) -> {
                        pairs.add(key);
                        pairs.add(value);
                    });
            return new Config(VALUES, "", pairs.toArray(String[]::new));
        }
    }
}
