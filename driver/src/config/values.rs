//! Configuration from keys and values: written down as the TOML that a file would hold.

use std::fmt::Write;

use super::keys::{KeyType, keys};

/// One line a value. Where a number or a truth value belongs and the text is none, it is written
/// as a string, which the reader refuses by its name.
pub(super) fn to_toml<K: AsRef<str>, V: AsRef<str>>(values: &[(K, V)]) -> String {
    let mut text = String::new();
    for (key, value) in values {
        let path = split(key.as_ref());
        for (index, part) in path.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { "." });
            quote(&mut text, part);
        }
        text.push_str(" = ");
        let value = value.as_ref();
        match is_literal(&path, value) {
            true => text.push_str(value),
            // `$${` is a plain `${`: values stand for themselves.
            false => quote(&mut text, &value.replace("${", "$${")),
        }
        text.push('\n');
    }
    text
}

/// The names of librdkafka's properties have dots of their own.
fn split(key: &str) -> Vec<&str> {
    let parts = if key.starts_with("participants.") {
        3
    } else {
        usize::MAX
    };
    key.splitn(parts, '.').collect()
}

fn is_literal(path: &[&str], value: &str) -> bool {
    let (table, name) = match path {
        ["participants", _, name] => ("participants.NAME".to_owned(), *name),
        [table @ .., name] => (table.join("."), *name),
        [] => return false,
    };
    let mut keys = keys().into_iter();
    match keys
        .find(|key| key.table == table && key.name == name)
        .map(|key| key.value)
    {
        Some(KeyType::Integer) => {
            !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
        }
        Some(KeyType::Boolean) => matches!(value, "true" | "false"),
        _ => false,
    }
}

fn quote(text: &mut String, part: &str) {
    text.push('"');
    for letter in part.chars() {
        match letter {
            '"' | '\\' => {
                text.push('\\');
                text.push(letter);
            }
            _ if letter.is_control() => {
                // Writing into a string cannot fail.
                let _ = write!(text, "\\u{:04X}", u32::from(letter));
            }
            _ => text.push(letter),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    const BASE: [(&str, &str); 4] = [
        ("coordinator.id", "orders"),
        ("coordinator.log", "/tmp/orders"),
        ("participants.eu.kind", "kafka"),
        ("participants.eu.bootstrap.servers", "eu:9092"),
    ];

    fn with(more: &[(&str, &str)]) -> Result<Config, crate::Error> {
        let values: Vec<_> = BASE.iter().chain(more).copied().collect();
        Config::from_values(&values)
    }

    #[test]
    fn values_mean_what_a_file_means() {
        let password = "a\"b\\c${HOME}\n\u{7f}ü";
        let config = with(&[
            ("participants.eu.slots", "3"),
            ("participants.eu.sasl.password", password),
            ("coordinator.limits.enlist_timeout_ms", "007"),
            ("coordinator.adopt", "true"),
        ]);
        let error = config.expect_err("TOML has no leading zeroes");
        assert!(!format!("{error:?}").contains("HOME"), "{error}");

        let config = with(&[
            ("participants.eu.slots", "3"),
            ("participants.eu.sasl.password", password),
            ("coordinator.limits.enlist_timeout_ms", "700"),
            ("coordinator.adopt", "true"),
        ])
        .expect("a configuration");
        assert_eq!(config.id(), "orders");
        assert!(config.adopt);
        assert_eq!(config.limits.enlist_timeout_ms, 700);
        let eu = &config.participants()[0];
        assert_eq!((eu.name(), eu.slots), ("eu", 3));
        assert_eq!(eu.revealed()["sasl.password"], password);
        assert_eq!(eu.revealed()["bootstrap.servers"], "eu:9092");
    }

    #[test]
    fn errors_name_the_key_and_no_line() {
        for (key, value, part) in [
            ("participants.eu.slots", "many", "`slots`"),
            ("participants.eu.slot", "1", "did you mean `slots`?"),
            ("coordinator.adopt", "yes", "`adopt`"),
            (
                "coordinator.limits.enlist_timeout",
                "1",
                "enlist_timeout_ms",
            ),
            ("coordinater.name", "1", "did you mean `coordinator`?"),
        ] {
            let error = with(&[(key, value)]).expect_err(key).to_string();
            assert!(error.contains(part), "{key}: {error}");
            assert!(!error.contains(" line "), "{key}: {error}");
        }
    }
}
