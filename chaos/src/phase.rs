//! What the program under test tells about itself, line by line, and where a kill hit it.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// The part of a commit that a kill fell into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// No transaction was open.
    Idle,
    /// A transaction was being filled.
    Writing,
    /// Votes were being collected.
    Preparing,
    /// The decision was on its way to the log.
    Deciding,
    /// The decision was durable, and not every cluster had acknowledged it.
    Decided,
    /// A restarted program was ending what its predecessor left.
    Recovering,
}

impl Window {
    /// All, in the order of a commit.
    pub const ALL: [Self; 6] = [
        Self::Idle,
        Self::Writing,
        Self::Preparing,
        Self::Deciding,
        Self::Decided,
        Self::Recovering,
    ];
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::Writing => "writing",
            Self::Preparing => "preparing",
            Self::Deciding => "deciding",
            Self::Decided => "decided, not acknowledged",
            Self::Recovering => "recovering",
        })
    }
}

/// One line about a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseLine {
    /// The phase.
    pub phase: String,
    /// The transaction, where it is about one.
    pub transaction: Option<String>,
    /// How many transactions a start found open, where it says so.
    pub open: Option<u64>,
}

impl PhaseLine {
    /// Reads a line of JSON log; `None` if it is about something else.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let fields = value.get("fields").unwrap_or(&value);
        let text = |name: &str| Some(fields.get(name)?.as_str()?.to_owned());
        Some(Self {
            phase: text("phase")?,
            transaction: text("txn"),
            open: fields.get("open").and_then(Value::as_u64),
        })
    }
}

/// Follows the lines of one life of the program.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    open: HashMap<String, Window>,
    recovering: bool,
    completed: u64,
}

impl Tracker {
    /// Takes one line.
    pub fn observe(&mut self, line: &PhaseLine) {
        match line.phase.as_str() {
            "recovering" => self.recovering = line.open != Some(0),
            "recovered" => self.recovering = false,
            _ => {
                if let Some(transaction) = &line.transaction {
                    self.step(transaction, &line.phase);
                }
            }
        }
    }

    fn step(&mut self, transaction: &str, phase: &str) {
        let window = match phase {
            "begun" => Window::Writing,
            "preparing" => Window::Preparing,
            "deciding" => Window::Deciding,
            "decided" => Window::Decided,
            "completed" | "aborted" => {
                self.completed += u64::from(phase == "completed");
                self.open.remove(transaction);
                return;
            }
            // Others, like the acknowledgement of one of several branches, end no window.
            _ => return,
        };
        self.open.insert(transaction.to_owned(), window);
    }

    /// Where it stands; of several open transactions the one with the most to lose counts.
    #[must_use]
    pub fn window(&self) -> Window {
        let furthest = self.open.values().max().copied();
        match furthest {
            Some(Window::Decided) => Window::Decided,
            _ if self.recovering => Window::Recovering,
            _ => furthest.unwrap_or(Window::Idle),
        }
    }

    /// Transactions that ended committed in this life.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[(&str, Option<&str>)]) -> Window {
        let mut tracker = Tracker::default();
        for (phase, transaction) in lines {
            let transaction = transaction.map(str::to_owned);
            tracker.observe(&PhaseLine {
                phase: (*phase).into(),
                transaction,
                open: Some(2),
            });
        }
        tracker.window()
    }

    #[test]
    fn a_line_of_the_log_is_read_and_others_are_not() {
        let line = r#"{"level":"DEBUG","fields":{"phase":"decided","txn":"3-7"},"target":"gtc"}"#;
        let read = PhaseLine::parse(line).unwrap();
        assert_eq!(
            (read.phase.as_str(), read.transaction.as_deref()),
            ("decided", Some("3-7"))
        );
        let start = PhaseLine::parse(r#"{"fields":{"phase":"recovering","open":2}}"#).unwrap();
        assert_eq!((start.transaction, start.open), (None, Some(2)));
        assert_eq!(
            PhaseLine::parse(r#"{"fields":{"message":"verified"}}"#),
            None
        );
        assert_eq!(PhaseLine::parse("thread main panicked"), None);
    }

    #[test]
    fn each_phase_opens_its_window_and_the_last_acknowledgement_closes_it() {
        let t = Some("1");
        let steps = [
            ("begun", Window::Writing),
            ("preparing", Window::Preparing),
            ("deciding", Window::Deciding),
            ("decided", Window::Decided),
            ("acknowledged", Window::Decided),
            ("completed", Window::Idle),
        ];
        let mut lines = Vec::new();
        assert_eq!(after(&lines), Window::Idle);
        for (phase, window) in steps {
            lines.push((phase, t));
            assert_eq!(after(&lines), window, "{phase}");
        }
    }

    #[test]
    fn recovery_ends_with_its_line_and_a_decided_transaction_outweighs_it() {
        assert_eq!(after(&[("recovering", None)]), Window::Recovering);
        assert_eq!(
            after(&[("recovering", None), ("recovered", None)]),
            Window::Idle
        );
        let both = [("recovering", None), ("deciding", Some("2"))];
        assert_eq!(after(&both), Window::Recovering);
        assert_eq!(
            after(&[("recovering", None), ("decided", Some("2"))]),
            Window::Decided
        );
    }

    #[test]
    fn a_start_that_finds_nothing_open_recovers_nothing() {
        let mut tracker = Tracker::default();
        let line = PhaseLine {
            phase: "recovering".into(),
            transaction: None,
            open: Some(0),
        };
        tracker.observe(&line);
        assert_eq!(tracker.window(), Window::Idle);
    }

    #[test]
    fn of_several_transactions_the_furthest_counts() {
        let lines = [
            ("decided", Some("1")),
            ("begun", Some("2")),
            ("preparing", Some("2")),
        ];
        assert_eq!(after(&lines), Window::Decided);
    }
}
