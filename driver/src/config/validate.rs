//! What a configuration has to be before anything is opened: one set of rules for all commands.

use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use gtc_core::{GivesWay, LogId};

use super::{Config, ParticipantConfig};
use crate::error::{Error, ErrorKind};

const OPERATION: &str = "check configuration";

impl Config {
    /// Refuses names, numbers and limits that cannot work, without asking any cluster. Reading a
    /// file and opening a coordinator ask it too.
    ///
    /// # Errors
    /// Config, with the first one and what is needed.
    pub fn validate(&self) -> Result<(), Error> {
        if self.log.as_os_str().is_empty() {
            let problem = "the coordinator's `log` is empty";
            return Err(Error::new(ErrorKind::Config, OPERATION, problem)
                .with_remedy("name a directory on a local file system"));
        }
        if self.log.as_os_str().as_bytes().contains(&0) {
            let problem = "the coordinator's `log` holds a zero byte, which no path has";
            return Err(Error::new(ErrorKind::Config, OPERATION, problem)
                .with_remedy("name a directory on a local file system"));
        }
        if let Some((name, value, least)) = self.limits.too_low() {
            let problem = format!("the limit {name} = {value} is too low");
            return Err(Error::new(ErrorKind::Config, OPERATION, problem)
                .with_remedy(format!("raise it to {least} or more")));
        }
        self.refuse_too_many_slots()?;
        // No ceiling is known yet; what it leaves open is checked against the cluster's own.
        let participants = self.participants.iter();
        let participants = participants.map(|participant| participant.core(Some(i64::MAX)));
        let core = gtc_core::Config {
            coordinator: self.id.clone(),
            log_id: LogId(0),
            participants: participants.collect(),
            limits: self.limits.core(),
            backoff: self.limits.backoff(),
            seed: 0,
        };
        // Its text says what is needed.
        core.validate().map_err(|error| {
            Error::new(ErrorKind::Config, OPERATION, error.to_string()).with_source(error)
        })
    }

    fn refuse_too_many_slots(&self) -> Result<(), Error> {
        const MOST: u32 = ParticipantConfig::SLOTS_MAX;
        let mut participants = self.participants.iter();
        let Some(found) = participants.find(|participant| participant.slots > MOST) else {
            return Ok(());
        };
        let problem = format!("slots = {} is more than {MOST}", found.slots);
        Err(Error::new(ErrorKind::Config, OPERATION, problem)
            .with_participant(&found.name)
            .with_remedy("lower it: each slot is a producer with threads and connections"))
    }
}

impl ParticipantConfig {
    /// What the core is told of it, given the cluster's ceiling where that is known.
    fn core(&self, ceiling_ms: Option<i64>) -> gtc_core::ParticipantConfig {
        let timeout_ms = self.resolve_timeout_ms(ceiling_ms);
        gtc_core::ParticipantConfig {
            name: self.name.clone(),
            slots_max: self.slots,
            timeout_ms,
            margin: Duration::from_millis(self.resolve_margin_ms(timeout_ms)),
            // What was chosen stays.
            gives_way: match (self.transaction_timeout_ms, self.margin_ms) {
                (Some(_), _) => GivesWay::Nothing,
                (None, Some(_)) => GivesWay::Timeout,
                (None, None) => GivesWay::TimeoutAndMargin,
            },
            names_max: self.names_max,
        }
    }

    /// As [`core`](Self::core), if it fits the cluster.
    pub(crate) fn fitted(
        &self,
        operation: &'static str,
        ceiling_ms: Option<i64>,
    ) -> Result<gtc_core::ParticipantConfig, Error> {
        let fitted = self.core(ceiling_ms);
        let refuse = |problem: String| {
            Error::new(ErrorKind::Config, operation, problem).with_participant(&self.name)
        };
        let timeout_ms = fitted.timeout_ms;
        if let Some(ceiling_ms) = ceiling_ms.filter(|ceiling| i64::from(timeout_ms) > *ceiling) {
            let problem = format!(
                "transaction_timeout_ms = {timeout_ms} is above the cluster's ceiling of {ceiling_ms}"
            );
            let remedy = format!(
                "lower it, or raise the broker setting transaction.max.timeout.ms to {timeout_ms}"
            );
            return Err(refuse(problem).with_remedy(remedy));
        }
        match fitted.validate() {
            Ok(()) => Ok(fitted),
            Err(error) => Err(refuse(error.to_string())),
        }
    }
}
