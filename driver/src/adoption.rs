//! Before a log that was moved is adopted the clusters are looked at.
//!
//! A start would find a stale copy as well. But it has bound the log to its new place and raised the
//! incarnation by then, and what is refused is to be left as it was found.

use std::time::Duration;

use gtc_core::{LogId, SlotName, StopReason};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::log;
use crate::open::{Member, replay};
use crate::verdict;

const OPERATION: &str = "adopt log";

/// Refuses a log that a cluster knows more than. What cannot be read, or a cluster that does not answer,
/// is for the start to judge.
pub(crate) async fn refuse_stale(config: &Config, members: &[Member]) -> Result<(), Error> {
    let directory = config.log.clone();
    let read = tokio::task::spawn_blocking(move || log::read_only(&directory)).await;
    let read = read.map_err(|error| {
        Error::new(ErrorKind::Internal, OPERATION, "reading the log panicked").with_source(error)
    })?;
    let Ok(found) = read else { return Ok(()) };
    let Ok((ledger, _)) = replay(OPERATION, &found) else {
        return Ok(());
    };
    let log_id = LogId(found.identity.log_id);
    let deadline = Instant::now() + Duration::from_millis(config.limits.connect_timeout_ms);
    let mut asked = JoinSet::new();
    for member in members {
        let driver = member.driver.clone();
        let prefix = SlotName::coordinator_prefix(&config.id);
        asked.spawn(async move { timeout_at(deadline, driver.list(prefix)).await });
    }
    while let Some(answer) = asked.join_next().await {
        let Ok(Ok(listing)) = answer else { continue };
        if let Some(why) = ledger.stale((&config.id, log_id), &listing) {
            return Err(verdict::stopped(OPERATION, &StopReason::StaleLog(why)));
        }
    }
    Ok(())
}
