//! Promise: a commit is decided only while every branch is surely held open for the safety margin (R14).

use crate::model::broker::{Broker, Tag};
use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "promise";

/// When a decision to commit is handed to the log.
pub fn check(tag: &Tag, now_us: u64, margin_us: u64, broker: &Broker) -> Verdict {
    let late = broker
        .expires_us(tag)
        .is_none_or(|expires_us| now_us + margin_us > expires_us);
    holds(NAME, !late, || format!("promised too late: {tag:?}"))
}
