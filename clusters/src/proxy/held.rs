//! A request that the proxy keeps back.

use std::sync::Arc;
use std::time::Duration;

use super::frame::FrameHeader;
use super::state::{FrameKey, Hold, Shared};
use crate::error::{Error, Result};

/// A request that was held, to be released on its own connection.
#[derive(Debug)]
pub struct HeldFrame {
    header: FrameHeader,
    shared: Arc<Shared>,
}

impl HeldFrame {
    pub(super) fn await_next(shared: &Arc<Shared>, patience: Duration) -> Option<Self> {
        let header = shared.wait_for(patience, |state| {
            state.holds.values_mut().find_map(|hold| match hold {
                Hold::Waiting(header) => {
                    let header = header.clone();
                    *hold = Hold::Taken;
                    Some(header)
                }
                _ => None,
            })
        })?;
        Some(Self {
            header,
            shared: Arc::clone(shared),
        })
    }

    /// What it is.
    #[must_use]
    pub fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// Sends it to the broker, waits for the broker's answer and returns that, from its
    /// correlation id on. The client gets the answer too, if it is still there.
    pub fn release(self, patience: Duration) -> Result<Vec<u8>> {
        let key = self.key();
        self.shared.change(|state| {
            state
                .holds
                .entry(key)
                .and_modify(|hold| *hold = Hold::Released);
        });
        let answer = self
            .shared
            .wait_for(patience, |state| match state.holds.get(&key) {
                Some(Hold::Answered(bytes)) => Some(Ok(bytes.clone())),
                Some(_) => None,
                None => Some(Err("its connection was cut")),
            });
        self.shared.change(|state| {
            if matches!(state.holds.get(&key), Some(Hold::Answered(_))) {
                state.holds.remove(&key);
            }
        });
        answer
            .unwrap_or(Err("no answer came in time"))
            .map_err(|cause| {
                let api_key = self.header.api_key;
                let operation = format!("releasing a held request with API key {api_key}");
                Error::new(operation, cause, "see whether the broker runs, and its log")
            })
    }

    fn key(&self) -> FrameKey {
        (self.header.connection, self.header.correlation_id)
    }
}
