//! Java: an exception a kind, the kinds as an enum, and the keys of a configuration as constants.

use std::fmt::Write;

use gtc::config::ConfigKey;

use crate::Language;
use crate::tables::{NOTE, key_doc, keys_of, kinds, pascal};

pub(crate) const JAVA: Language = Language {
    name: "Java",
    generated: || {
        vec![
            ("java/src/main/java/gtc/ErrorKind.java", kind_enum()),
            ("java/src/main/java/gtc/GtcException.java", exceptions()),
            ("java/src/main/java/gtc/ConfigKeys.java", config()),
        ]
    },
    documented: &[
        ("java/src/main/java/gtc/Coordinator.java", &["coordinator"]),
        (
            "java/src/main/java/gtc/GlobalTransaction.java",
            &["transaction"],
        ),
        (
            "java/src/main/java/gtc/TransactionalConsumer.java",
            &["consumer"],
        ),
        ("java/src/main/java/gtc/Batch.java", &["batch"]),
        ("java/src/main/java/gtc/OwnBranch.java", &["own_branch"]),
    ],
};

fn kind_enum() -> String {
    let mut text = format!("// {NOTE}\npackage gtc;\n\n/** What kind of thing went wrong. */\n");
    text += "public enum ErrorKind {\n";
    let rows: Vec<String> = kinds()
        .iter()
        .map(|(kind, doc)| {
            let name = kind.as_str();
            let (constant, retry) = (constant(name), constant(kind.retry().as_str()));
            format!(
                "    /** {doc} */\n    {constant}({}, \"{name}\", Retry.{retry})",
                kind.code()
            )
        })
        .collect();
    text += &rows.join(",\n\n");
    text + ";\n
    private final int code;
    private final String word;
    private final Retry retry;

    ErrorKind(int code, String word, Retry retry) {
        this.code = code;
        this.word = word;
        this.retry = retry;
    }

    /**
     * Its number, the same in every language.
     *
     * @return the number, from 1
     */
    public int code() {
        return code;
    }

    /**
     * Its name, the same in every language.
     *
     * @return such as {@code in-doubt}
     */
    public String word() {
        return word;
    }

    /**
     * The advice on a retry that an error of this kind has unless it says otherwise.
     *
     * @return the usual advice
     */
    public Retry retry() {
        return retry;
    }
}
"
}

/// `in-doubt` as `IN_DOUBT`.
fn constant(name: &str) -> String {
    name.to_uppercase().replace(['-', '.'], "_")
}

fn exceptions() -> String {
    let mut text = format!("// {NOTE}\n");
    text += EXCEPTION_HEAD;
    for (kind, doc) in kinds() {
        let (class, constant) = (pascal(kind.as_str()), constant(kind.as_str()));
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "\n    /** {doc} The usual advice on a retry is {}. */\n    \
             public static final class {class} extends GtcException {{\n        \
             private static final long serialVersionUID = 1L;\n\n        \
             {class}(Details details) {{\n            \
             super(ErrorKind.{constant}, details);\n        }}\n    }}\n",
            kind.retry()
        );
    }
    text += "\n    /** The exception of the kind with this number. */\n";
    text +=
        "    static GtcException of(int code, Details details) {\n        return switch (code) {\n";
    for (kind, _) in kinds() {
        let class = pascal(kind.as_str());
        let _ = writeln!(
            text,
            "            case {} -> new {class}(details);",
            kind.code()
        );
    }
    text + "            default -> new Internal(details);\n        };\n    }\n}\n"
}

const EXCEPTION_HEAD: &str = r#"package gtc;

import java.util.Optional;

/**
 * An error of gtc, with a subclass a kind: decide by {@link #kind()} or the subclass, and by
 * {@link #retry()}. The text is for people and no API.
 */
public abstract sealed class GtcException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorKind kind;
    private final transient Details details;

    GtcException(ErrorKind kind, Details details) {
        super(details.message());
        this.kind = kind;
        this.details = details;
    }

    /**
     * What kind of thing went wrong.
     *
     * @return the kind
     */
    public ErrorKind kind() {
        return kind;
    }

    /**
     * Whether asking again helps.
     *
     * @return the advice
     */
    public Retry retry() {
        return details == null ? kind.retry() : details.retry();
    }

    /**
     * The call or step that failed.
     *
     * @return its name; empty where it is not known
     */
    public String operation() {
        return details == null || details.operation() == null ? "" : details.operation();
    }

    /**
     * The participant concerned, if it is one.
     *
     * @return its name
     */
    public Optional<String> participant() {
        return Optional.ofNullable(details).map(Details::participant);
    }

    /**
     * The transaction concerned, if it is one: keep it where the kind is in-doubt.
     *
     * @return its id
     */
    public Optional<String> transaction() {
        return Optional.ofNullable(details).map(Details::transaction);
    }

    /**
     * What went wrong, without the names around it.
     *
     * @return a text for people
     */
    public String problem() {
        return details == null ? getMessage() : details.problem();
    }

    /**
     * What to do about it.
     *
     * @return a text for people
     */
    public Optional<String> remedy() {
        return Optional.ofNullable(details).map(Details::remedy);
    }

    /** What an exception is made of. */
    record Details(
            String message,
            Retry retry,
            String operation,
            String participant,
            String transaction,
            String problem,
            String remedy) {}
"#;

fn config() -> String {
    let mut text = format!("// {NOTE}\npackage gtc;\n\n/**\n * The keys of a configuration, as ");
    text += "{@link Config.Builder#set} takes them; those that begin with\n * {@code PARTICIPANT_} are ";
    text += "for {@link Config.Builder#participant}, where every other key is a property of\n * ";
    text += "librdkafka.\n */\npublic final class ConfigKeys {\n";
    for (table, dotted) in [("coordinator", true), ("coordinator.limits", true)] {
        keys_of(table)
            .iter()
            .for_each(|key| field(&mut text, key, dotted));
    }
    keys_of("participants.NAME")
        .iter()
        .for_each(|key| field(&mut text, key, false));
    text + "    private ConfigKeys() {}\n}\n"
}

fn field(text: &mut String, key: &ConfigKey, dotted: bool) {
    let (constant, value) = match dotted {
        true => {
            let value = format!("{}.{}", key.table, key.name);
            (constant(&value), value)
        }
        false => (
            format!("PARTICIPANT_{}", constant(key.name)),
            key.name.to_owned(),
        ),
    };
    let doc = javadoc(&key_doc(key));
    let _ = write!(
        text,
        "    /** {doc} */\n    public static final String {constant} = \"{value}\";\n\n"
    );
}

/// Marks of Markdown as Javadoc's, and nothing that Javadoc would take for its own.
fn javadoc(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(index, part)| match index % 2 {
        0 => part.to_owned(),
        _ => format!("{{@code {part}}}"),
    });
    parts.collect()
}
