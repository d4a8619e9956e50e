//! The keys of a configuration, in one table for the reader, the documentation and every language.

use super::Limits;

/// What a key's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyType {
    /// Text.
    Text,
    /// A whole number that is not negative.
    Integer,
    /// True or false.
    Boolean,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigKey {
    /// The table it stands in: `coordinator`, `coordinator.limits` or `participants.NAME`.
    pub table: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub value: KeyType,
    /// What it is without being written, for people; `None` where it must be written.
    pub default: Option<String>,
    /// What it means.
    pub doc: &'static str,
}

type Row = (&'static str, KeyType, Option<&'static str>, &'static str);

const COORDINATOR: &[Row] = &[
    (
        "id",
        KeyType::Text,
        None,
        "its id: letters, digits, `-` and `_`",
    ),
    (
        "log",
        KeyType::Text,
        None,
        "the directory of the decision log, on a local file system",
    ),
    (
        "adopt",
        KeyType::Boolean,
        Some("false"),
        "take over a log that was moved here; right only where no copy of it can ever start again",
    ),
];

const PARTICIPANT: &[Row] = &[
    ("kind", KeyType::Text, None, "`kafka`"),
    (
        "slots",
        KeyType::Integer,
        Some("16"),
        "how many transactions may write to it at once; each slot is a producer with its threads \
         and connections",
    ),
    (
        "transaction_timeout_ms",
        KeyType::Integer,
        Some(
            "the cluster's ceiling, at most 24 hours; where it is not told at open, 15 minutes, or a \
             lower ceiling that is told later",
        ),
        "`transaction.timeout.ms` of the slots: for how long a decided transaction survives an \
         outage",
    ),
    (
        "margin_ms",
        KeyType::Integer,
        Some("10 seconds, or a third of a time-out below 30 seconds"),
        "how long before the time-out of a branch a commit is no longer promised",
    ),
    (
        "names_max",
        KeyType::Integer,
        Some("10000"),
        "how many slot names one start may make; the cluster keeps each for seven days",
    ),
];

/// Every key of gtc's own. All others of a participant are properties of librdkafka.
#[must_use]
pub fn keys() -> Vec<ConfigKey> {
    let rows = |table, rows: &[Row]| {
        let keys = rows.iter().map(|(name, value, default, doc)| ConfigKey {
            table,
            name,
            value: *value,
            default: default.map(str::to_owned),
            doc,
        });
        keys.collect::<Vec<_>>()
    };
    let limits = Limits::TABLE.iter().map(|(name, default, doc)| ConfigKey {
        table: "coordinator.limits",
        name,
        value: KeyType::Integer,
        default: Some(default.to_string()),
        doc,
    });
    let mut keys = rows("coordinator", COORDINATOR);
    keys.extend(limits);
    keys.extend(rows("participants.NAME", PARTICIPANT));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ParticipantConfig;

    #[test]
    fn the_documentation_lists_every_key() {
        let page = include_str!("../../../docs/configuration.md");
        for ConfigKey {
            name, default, doc, ..
        } in keys()
        {
            let default = default.map_or_else(String::new, |default| format!("{default} "));
            let row = format!("| `{name}` | {default}| {doc} |");
            assert!(page.contains(&row), "docs/configuration.md lacks: {row}");
        }
    }

    #[test]
    fn the_reader_knows_the_same_keys_of_a_participant() {
        let mut names: Vec<_> = PARTICIPANT.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        assert_eq!(names, ParticipantConfig::KEYS);
        let config = ParticipantConfig::kafka("eu");
        let default = |name| {
            keys()
                .into_iter()
                .find(|key| key.name == name)
                .unwrap()
                .default
        };
        assert_eq!(default("slots"), Some(config.slots.to_string()));
        assert_eq!(default("names_max"), Some(config.names_max.to_string()));
    }
}
