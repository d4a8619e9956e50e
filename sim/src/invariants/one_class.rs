//! One class: a branch is ended by EndTxn of its producer's version class, and of no other.

use gtc_core::VersionClass;

use crate::model::broker::Call;
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "one-class";

/// When gtc sends a request about a producer of this class.
pub fn check(class: VersionClass, call: &Call) -> Verdict {
    let right = match call {
        Call::End { version, .. } => (*version >= 5) == (class == VersionClass::V2),
        _ => true,
    };
    holds(NAME, right, || {
        format!("{call:?} of a {} producer", class.as_str())
    })
}
