//! What an oracle finds: an invariant that does not hold, by its name.

use std::fmt;
use std::panic::resume_unwind;

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the invariant, as docs/simulation.md lists it.
    pub invariant: &'static str,
    /// What was seen instead.
    pub detail: String,
}

/// Whether an invariant holds.
pub type Verdict = Result<(), Violation>;

/// Holds the condition against an invariant.
pub fn holds(invariant: &'static str, condition: bool, detail: impl FnOnce() -> String) -> Verdict {
    if condition {
        return Ok(());
    }
    let detail = detail();
    Err(Violation { invariant, detail })
}

impl Violation {
    /// Ends the history that it was found in: whoever runs the history catches it. No panic message is
    /// printed, as the violation is the message.
    pub fn raise(self) -> ! {
        resume_unwind(Box::new(self))
    }

    /// What ended a history: a violation raised, or a panic, which is a violation of its own.
    pub fn from_unwind(payload: Box<dyn std::any::Any + Send>) -> Self {
        let payload = match payload.downcast::<Self>() {
            Ok(violation) => return *violation,
            Err(other) => other,
        };
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
        let detail = text.unwrap_or_else(|| "a panic without words".into());
        // The core checks itself after every step of a debug build.
        let invariant = if detail.starts_with("invariant broken") {
            "core-invariants"
        } else {
            "no-panic"
        };
        Self { invariant, detail }
    }
}

/// Ends the history unless the invariant holds.
pub fn demand(verdict: Verdict) {
    if let Err(violation) = verdict {
        violation.raise();
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.detail)
    }
}
