//! The anomalies, by name.

use serde::Serialize;

/// One list makes the kinds, their names and their meanings.
macro_rules! kinds {
    ($($kind:ident, $name:literal, $meaning:literal;)*) => {
        /// What can be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Kind {
            $(#[doc = $meaning] $kind,)*
        }

        impl Kind {
            /// Every kind with its name and its meaning.
            pub const TABLE: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$kind, $name, $meaning),)*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    TornAcross, "torn-across",
        "some clusters show the transaction, others do not, and nobody was told";
    TornWithin, "torn-within", "a cluster shows some records of the transaction and lacks others";
    AbortedRead, "aborted-read",
        "what nobody asked to commit is visible, or was read by a read_committed consumer";
    Lost, "lost", "a later question was answered committed, and no cluster shows it";
    Duplicated, "duplicated", "a record is there twice, or was consumed by two transactions";
    OutOfOrder, "out-of-order", "a record stands behind a successor of the same writer";
    OffsetsAhead, "offsets-ahead", "the group has passed a record of which nothing was made";
    OffsetsBehind, "offsets-behind", "something was made of a record that the group reads again";
    InDoubtLeft, "in-doubt-left", "nobody can tell the outcome after everything has healed";
    StableOffsetStuck, "stable-offset-stuck", "read_committed readers do not come to the end";
    ToldAbortedVisible, "told-aborted-visible", "it was told aborted, and a cluster shows it";
    ToldCommittedMissing, "told-committed-missing",
        "it was told committed, and a cluster does not show it";
    HeuristicUnreported, "heuristic-unreported",
        "a branch ended otherwise than decided after its time-out, and nobody was told";
    HeuristicWithoutCause, "heuristic-without-cause",
        "it was told mixed, and the clusters agree, or no time-out had passed";
    ToldOtherwise, "told-otherwise", "it was told one end, and later another";
    Unexpected, "unexpected", "a record or a transaction that no journal plans";
    ParticipantStopped, "participant-stopped", "a participant was given up without a stranger";
    Crashed, "crashed", "a worker ended by itself, or did not end when asked";
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Anomaly {
    /// Which.
    pub kind: Kind,
    /// The transaction; empty where it is about none.
    pub tx: String,
    /// Where and what exactly.
    pub what: String,
}

impl Anomaly {
    /// One about a transaction, or about none.
    pub fn new(kind: Kind, tx: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            kind,
            tx: tx.into(),
            what: what.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn the_documentation_lists_every_kind() {
        let page = include_str!("../../../docs/chaos.md");
        for (_, name, meaning) in Kind::TABLE {
            let row = format!("| {name} | {meaning} |");
            assert!(page.contains(&row), "docs/chaos.md lacks: {row}");
        }
    }

    #[test]
    fn json_has_the_same_names_as_the_table() {
        for (kind, name, _) in Kind::TABLE {
            assert_eq!(serde_json::to_string(kind).unwrap(), format!("\"{name}\""));
            assert_eq!(kind.name(), *name);
        }
    }
}
