//! What an oracle finds: an invariant that does not hold, by its name.

use std::fmt;

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the invariant, as docs/simulation.md lists it.
    pub invariant: &'static str,
    /// What was seen instead.
    pub detail: String,
}

impl Violation {
    /// What ended a history: a violation raised by `resume_unwind`, or a panic, which is a violation of its own.
    pub fn from_unwind(payload: Box<dyn std::any::Any + Send>) -> Self {
        let payload = match payload.downcast::<Self>() {
            Ok(violation) => return *violation,
            Err(other) => other,
        };
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
        Self {
            invariant: "no-panic",
            detail: text.unwrap_or_else(|| "a panic without words".into()),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.detail)
    }
}
