//! The core of gtc with plain objects in and out, as JSON text in the form of `vectors/README.md`:
//! for languages that host it in a loop of their own. It does no I/O and reads no clock, as the
//! core itself.
//!
//! The calling contract is the core's: put one thing in, then poll until the output is
//! [`Output::Wait`], and do the actions.
//!
//! ```
//! use gtc_plain::{Now, Output, PlainCore, Time};
//!
//! # fn main() -> Result<(), gtc_plain::Misfit> {
//! let config = r#"{"coordinator": "orders", "log_id": "00000000000000ab", "participants": [
//!     {"name": "eu", "slots_max": 4, "timeout_ms": 60000, "margin_us": 10000000, "names_max": 100}
//! ]}"#;
//! let now = Now { monotonic: Time::from_micros(0), unix_ms: 0 };
//! let mut core = PlainCore::new(config, [], now)?;
//! let Output::Action { id, text } = core.poll_output()? else { unreachable!() };
//! assert!(text.contains("append"));
//! core.handle_response(id, r#"{"response": "appended"}"#, now)?;
//! # Ok(())
//! # }
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use gtc_core::{
    Action, ActionId, Config, Coordinator, Ledger, Output as CoreOutput, Record, Request, Response,
    WaitReason,
};
pub use gtc_core::{Now, Time};
use serde::{Deserialize, Serialize};

/// What was put in is not what it has to be; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit(pub String);

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Misfit {}

/// What comes out, each with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Something to do, and to answer under its id.
    Action {
        /// The id.
        id: u64,
        /// The action, with its id.
        text: String,
    },
    /// Something to tell the application.
    Event {
        /// The event.
        text: String,
    },
    /// Nothing more for now: put the next thing in.
    Wait {
        /// When the time-out is to be handled, on the monotonic clock; not before more comes in
        /// if it is none.
        until_us: Option<u64>,
        /// The time and its reason.
        text: String,
    },
}

/// The core of one coordinator.
#[derive(Debug)]
pub struct PlainCore(Coordinator);

#[derive(Serialize)]
struct Asked {
    id: ActionId,
    #[serde(flatten)]
    action: Action,
}

#[derive(Serialize)]
struct Wait {
    until_us: Option<Time>,
    reason: WaitReason,
}

impl PlainCore {
    /// A core that goes on where the records of its log end. Drain it at once.
    ///
    /// # Errors
    /// For a configuration that cannot work, and for records that are damaged or out of order.
    pub fn new<'a>(
        config: &str,
        log: impl IntoIterator<Item = &'a [u8]>,
        now: Now,
    ) -> Result<Self, Misfit> {
        let config: Config = read("configuration", config)?;
        let mut ledger = Ledger::new();
        for (number, bytes) in log.into_iter().enumerate() {
            let read = Record::decode(bytes).and_then(|record| ledger.apply(record));
            read.map_err(|error| Misfit(format!("record {number} of the log: {error}")))?;
        }
        let core = Coordinator::new(config, ledger, now);
        core.map(Self).map_err(|error| Misfit(error.to_string()))
    }

    /// Takes a request in, and gives what it is answered at once: accepted, or refused.
    ///
    /// # Errors
    /// For what is no request.
    pub fn handle_request(&mut self, request: &str, now: Now) -> Result<String, Misfit> {
        let request: Request = read("request", request)?;
        match self.0.handle_request(request, now) {
            Ok(accepted) => write(&accepted),
            Err(refusal) => write(&refusal),
        }
    }

    /// Takes the response to an action in. Late, repeated and unknown ones are ignored.
    ///
    /// # Errors
    /// For what is no response.
    pub fn handle_response(&mut self, id: u64, response: &str, now: Now) -> Result<(), Misfit> {
        let response: Response = read("response", response)?;
        self.0.handle_response(ActionId(id), response, now);
        Ok(())
    }

    /// Does what is due. Calling it early or often does no harm.
    pub fn handle_timeout(&mut self, now: Now) {
        self.0.handle_timeout(now);
    }

    /// The next output. Call it until it is [`Output::Wait`].
    ///
    /// # Errors
    /// Only for a defect of gtc: every output has a text.
    pub fn poll_output(&mut self) -> Result<Output, Misfit> {
        Ok(match self.0.poll_output() {
            CoreOutput::Action(id, action) => Output::Action {
                id: id.0,
                text: write(&Asked { id, action })?,
            },
            CoreOutput::Event(event) => Output::Event {
                text: write(&event)?,
            },
            CoreOutput::Wait(until, reason) => Output::Wait {
                until_us: until.map(Time::as_micros),
                text: write(&Wait {
                    until_us: until,
                    reason,
                })?,
            },
        })
    }
}

fn read<'a, T: Deserialize<'a>>(what: &str, text: &'a str) -> Result<T, Misfit> {
    serde_json::from_str(text).map_err(|error| Misfit(format!("this is no {what}: {error}")))
}

fn write(value: &impl Serialize) -> Result<String, Misfit> {
    serde_json::to_string(value).map_err(|error| Misfit(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = r#"{"coordinator": "c", "log_id": "00000000000000ab", "participants": [
        {"name": "eu", "slots_max": 1, "timeout_ms": 60000, "margin_us": 1000000,
         "names_max": 10}]}"#;

    fn now() -> Now {
        Now {
            monotonic: Time::from_micros(1),
            unix_ms: 1,
        }
    }

    #[test]
    fn what_does_not_fit_is_named_and_changes_nothing() {
        let damaged: &[u8] = b"damaged";
        for (config, log, part) in [
            ("{", &[][..], "no configuration"),
            ("{\"coordinator\": \"c\"}", &[], "log_id"),
            (CONFIG, &[damaged][..], "record 0 of the log"),
        ] {
            let error = PlainCore::new(config, log.iter().copied(), now()).unwrap_err();
            assert!(error.0.contains(part), "{error}");
        }
        let mut core = PlainCore::new(CONFIG, [], now()).unwrap();
        let error = core.handle_request("{\"request\": \"rollback\"}", now());
        assert!(error.unwrap_err().0.contains("no request"));
        let error = core.handle_response(1, "{\"response\": \"perhaps\"}", now());
        assert!(error.unwrap_err().0.contains("no response"));
        let output = core.poll_output().unwrap();
        assert!(matches!(output, Output::Action { id: 1, .. }), "{output:?}");
    }

    #[test]
    fn a_refusal_is_an_answer() {
        let mut core = PlainCore::new(CONFIG, [], now()).unwrap();
        let request = "{\"request\": \"forget\", \"transaction\": \"1-1\"}";
        let answer = core.handle_request(request, now()).unwrap();
        assert!(answer.starts_with("{\"refusal\":"), "{answer}");
        let until = loop {
            if let Output::Wait { until_us, text } = core.poll_output().unwrap() {
                assert!(text.contains("reason"), "{text}");
                break until_us;
            }
        };
        assert_eq!(until, None);
    }
}
