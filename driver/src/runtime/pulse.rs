//! Looks after each participant between the core's sweeps: does it answer at all?
//!
//! A sweep comes once a minute and is work for a cluster. This asks a cheap question every few
//! seconds, so that a cluster that died is known to be dead before a caller has waited for it. What
//! follows from the answer is the core's to say.

use std::sync::{Arc, Weak};
use std::time::Duration;

use gtc_core::{ParticipantId, ParticipantStatus, Request};
use tokio::time::sleep;

use super::act::caught;
use super::{Engine, Named};

/// Starts a task for each participant. They end with the engine.
pub(super) fn start(engine: &Arc<Engine>) {
    for index in (0_u16..).take(engine.participants.len()) {
        let watching = run(Arc::downgrade(engine), ParticipantId(index));
        engine.runtime.spawn(watching);
    }
}

async fn run(engine: Weak<Engine>, participant: ParticipantId) {
    while let Some((named, interval, patience)) = look(&engine, participant) {
        sleep(interval).await;
        // The core tries by itself what it does not count as verified.
        let Some((_, driver)) = named else { continue };
        let request = match caught(driver.reach(patience)).await {
            Ok(Ok(())) => continue,
            Ok(Err(why)) => Request::Unreachable { participant, why },
            Err(why) => Request::Broken { participant, why },
        };
        if let Some(engine) = engine.upgrade() {
            // Refused by a coordinator that has ended, which `look` sees too.
            let _ = engine.request(request);
        }
    }
}

/// What to ask and when; `None` once the engine has ended.
fn look(
    engine: &Weak<Engine>,
    participant: ParticipantId,
) -> Option<(Option<Named>, Duration, Duration)> {
    let engine = engine.upgrade()?;
    let index = usize::from(participant.0);
    let standing = engine.standing.borrow();
    if standing.stopped.is_some() {
        return None;
    }
    let is_verified = standing.participants.get(index) == Some(&ParticipantStatus::Verified);
    let named = engine.participants.get(index).filter(|_| is_verified);
    let limits = &engine.limits;
    Some((
        named.cloned(),
        Duration::from_millis(limits.watch_interval_ms),
        Duration::from_millis(limits.watch_timeout_ms),
    ))
}
