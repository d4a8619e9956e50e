//! A fence stops: once a coordinator has seen a stranger under one of its slots' names, it initialises nothing more
//! on that participant (R7), and what the stranger has open is not ended as its own.

use crate::model::broker::Tag;
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "fence-stops";

/// When the coordinator asks for an initialisation; `seen` is whether it has seen a stranger there.
pub fn initialises(seen: bool, id: &str) -> Verdict {
    holds(NAME, !seen, || {
        format!("{id} is initialised after a stranger was seen")
    })
}

/// When a coordinator was told that its log is another's.
pub fn log(stopped: bool) -> Verdict {
    holds(NAME, stopped, || {
        "it works on, although its log is fenced".into()
    })
}

/// When EndTxn of gtc ends a transaction.
pub fn ends(of_stranger: bool, tag: &Tag) -> Verdict {
    holds(NAME, !of_stranger, || {
        format!("a stranger's transaction is ended: {tag:?}")
    })
}
