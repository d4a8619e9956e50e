//! The brokers of one cluster: one connection each, made when it is needed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::broker::Broker;
use super::dial::Dialer;
use super::error::Failure;
use super::handshake;
use crate::kafka::properties::{ConnectionSettings, Endpoint};

/// The most brokers that are remembered; a cluster has fewer, a peer that lies may name more.
const MAX_BROKERS: usize = 4096;
/// The least time that each of several bootstrap servers gets.
const MIN_ATTEMPT: Duration = Duration::from_millis(500);

/// All connections of one control client.
pub(super) struct Pool {
    settings: ConnectionSettings,
    dialer: Dialer,
    slots: Mutex<HashMap<Endpoint, Arc<Slot>>>,
}

/// One broker's place. The lock is held while a connection is made, so that there is only one.
#[derive(Default)]
struct Slot(tokio::sync::Mutex<SlotState>);

#[derive(Default)]
struct SlotState {
    broker: Option<Broker>,
    failures: u32,
    last_failure: Option<(Failure, Instant)>,
}

impl Pool {
    pub(super) fn new(settings: ConnectionSettings, dialer: Dialer) -> Self {
        Self {
            settings,
            dialer,
            slots: Mutex::default(),
        }
    }

    pub(super) fn settings(&self) -> &ConnectionSettings {
        &self.settings
    }

    /// A connection to one broker. While its back-off lasts, the last failure is the answer.
    pub(super) async fn broker(
        &self,
        endpoint: &Endpoint,
        deadline: Instant,
    ) -> Result<Broker, Failure> {
        let slot = self.slot(endpoint);
        timeout_at(deadline, self.connect(endpoint, &slot, deadline))
            .await
            .unwrap_or_else(|_| Err(Failure::timeout("no connection in time").at(endpoint)))
    }

    /// A connection to any broker: an open one, else a bootstrap server, else one learned of.
    pub(super) async fn any_broker(&self, deadline: Instant) -> Result<Broker, Failure> {
        if let Some(broker) = self.open_broker() {
            return Ok(broker);
        }
        let candidates = self.candidates();
        let mut failure = Failure::unavailable("no broker is known");
        for (index, endpoint) in candidates.iter().enumerate() {
            // One that does not answer must not use up the time of the others.
            let left = deadline.saturating_duration_since(Instant::now());
            let waiting = u32::try_from(candidates.len() - index).unwrap_or(u32::MAX);
            let share = (left / waiting).max(MIN_ATTEMPT);
            match self
                .broker(endpoint, deadline.min(Instant::now() + share))
                .await
            {
                Ok(broker) => return Ok(broker),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn connect(
        &self,
        endpoint: &Endpoint,
        slot: &Slot,
        deadline: Instant,
    ) -> Result<Broker, Failure> {
        let mut state = slot.0.lock().await;
        if let Some(broker) = state.broker.as_ref().filter(|broker| broker.is_usable()) {
            return Ok(broker.clone());
        }
        state.broker = None;
        if let Some((failure, at)) = &state.last_failure
            && at.elapsed() < self.backoff(state.failures)
        {
            return Err(failure.clone());
        }
        match handshake::connect(endpoint, &self.settings, &self.dialer, deadline).await {
            Ok(broker) => {
                *state = SlotState {
                    broker: Some(broker.clone()),
                    ..SlotState::default()
                };
                Ok(broker)
            }
            Err(failure) => {
                tracing::debug!(broker = %endpoint, %failure, "no control connection");
                state.failures = state.failures.saturating_add(1);
                state.last_failure = Some((failure.clone(), Instant::now()));
                Err(failure)
            }
        }
    }

    fn backoff(&self, failures: u32) -> Duration {
        let doubled = 1_u32 << failures.saturating_sub(1).min(16);
        self.settings
            .backoff
            .saturating_mul(doubled)
            .min(self.settings.backoff_max)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Endpoint, Arc<Slot>>> {
        // Nothing panics while it holds the lock.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, endpoint: &Endpoint) -> Arc<Slot> {
        let mut slots = self.lock();
        if slots.len() >= MAX_BROKERS && !slots.contains_key(endpoint) {
            slots.clear();
        }
        Arc::clone(slots.entry(endpoint.clone()).or_default())
    }

    fn open_broker(&self) -> Option<Broker> {
        let slots = self.lock();
        slots.values().find_map(|slot| {
            let state = slot.0.try_lock().ok()?;
            state.broker.clone().filter(Broker::is_usable)
        })
    }

    fn candidates(&self) -> Vec<Endpoint> {
        let mut candidates = self.settings.bootstrap.clone();
        let known = self.lock();
        let mut learned: Vec<_> = known
            .keys()
            .filter(|endpoint| !candidates.contains(endpoint))
            .cloned()
            .collect();
        learned.sort();
        candidates.append(&mut learned);
        candidates
    }
}
