//! Wakes the core at the instant that it named.

use std::sync::{Arc, Weak};
use std::time::Duration;

use gtc_core::Time;
use tokio::sync::watch;

use super::{Engine, clock};

/// No sleep is longer: the runtime's clock stops in suspend, the core's does not.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// Starts the timer. It ends with the engine.
pub(super) fn start(engine: &Arc<Engine>) {
    let deadline = engine.wake_at.subscribe();
    let engine = Arc::downgrade(engine);
    let runtime = tokio::runtime::Handle::current();
    runtime.spawn(run(engine, deadline));
}

async fn run(engine: Weak<Engine>, mut deadline: watch::Receiver<Option<Time>>) {
    loop {
        let due = *deadline.borrow_and_update();
        let remaining = due.map(|due| due.saturating_since(clock::now().monotonic));
        if remaining.is_some_and(|remaining| remaining.is_zero()) {
            let Some(engine) = engine.upgrade() else {
                return;
            };
            engine.timeout();
            if *deadline.borrow() != due {
                continue;
            }
        }
        let sleep = remaining
            .unwrap_or(SLEEP_MAX)
            .clamp(Duration::from_millis(1), SLEEP_MAX);
        let changed = tokio::time::timeout(sleep, deadline.changed()).await;
        if matches!(changed, Ok(Err(_))) {
            return;
        }
    }
}

impl Engine {
    fn timeout(self: &Arc<Self>) {
        self.with(|engine, state| {
            if !state.closed {
                state.core.handle_timeout(clock::now());
                engine.drain(state);
                state.trace.counters(state.core.counters());
            }
        });
    }
}
