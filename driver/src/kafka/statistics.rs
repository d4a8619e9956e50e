//! The witness of safety rule R3: what librdkafka's statistics prove about requests.
//!
//! librdkafka repeats EndTxn, AddPartitionsToTxn and TxnOffsetCommit without a word when a
//! connection breaks or an answer is late. A first attempt that is still under way could then
//! arrive in the next transaction of the same epoch. Only the counters `disconnects` and
//! `req_timeouts`, which each broker handle keeps, betray it, and both are raised before the
//! repeat is sent. A broken connection is counted before its requests are given back. A time-out
//! is counted after that, but by the thread of the broker transaction coordinator's handle, which
//! is the one that sends the repeat, later. (TxnOffsetCommit is repeated by way of the group
//! coordinator's handle, which may change; so the call that sends offsets never lasts longer than
//! one request may, and an unanswered call spoils the slot by itself.)
//!
//! So the counters of two events are compared:
//!
//! - the **baseline** is the last event that had arrived before the local transaction was begun.
//!   What happened before it is outside: an idle connection that a broker closed between two
//!   leases changes the baseline and not the difference.
//! - the **later** event was generated after the ending call returned. librdkafka reads its clock
//!   into `ts` before it reads the first counter, and on Linux that clock is `CLOCK_MONOTONIC` in
//!   whole microseconds. An event whose `ts` is greater than the same clock read after the call
//!   returned was therefore generated after it. An event "from the future" would mean that the
//!   clocks differ, and proves nothing.
//!
//! A broker handle that is in the baseline and not in the later event took its counters with it,
//! and proves nothing either.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gtc_core::ProducerIdentity;
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The clock that librdkafka's `ts` is read from, in microseconds.
pub(super) fn monotonic_us() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}

/// The part of a producer's statistics that proves something. The rest is skipped while parsing.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ProducerStatistics {
    /// When the event was generated.
    #[serde(rename = "ts")]
    pub(super) generated_us: i64,
    brokers: BTreeMap<String, BrokerCounters>,
    eos: EosState,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct BrokerCounters {
    outbuf_cnt: i64,
    waitresp_cnt: i64,
    req_timeouts: u64,
    disconnects: i64,
    rxcorriderrs: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct EosState {
    idemp_state: String,
    txn_state: String,
    producer_id: i64,
    producer_epoch: i16,
}

/// What a later event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Every request since the baseline was answered.
    Answered,
    /// Something is still under way; a later event may tell.
    Waiting(String),
    /// Something was not answered, or cannot be known to have been.
    Unanswered(String),
}

impl ProducerStatistics {
    pub(super) fn parse(json: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(json).map_err(|error| format!("unreadable statistics: {error}"))
    }

    /// The producer id and epoch, once the broker has given them.
    pub(super) fn identity(&self) -> Option<ProducerIdentity> {
        (self.eos.producer_id >= 0 && self.eos.producer_epoch >= 0).then_some(ProducerIdentity {
            producer_id: self.eos.producer_id,
            epoch: self.eos.producer_epoch,
        })
    }

    /// Judges everything since `baseline`, which must have arrived before the first write.
    pub(super) fn judge(&self, baseline: &Self) -> Judgement {
        if let Some(why) = self.difference(Some(baseline)) {
            return Judgement::Unanswered(why);
        }
        if self.identity() != baseline.identity() {
            return Judgement::Unanswered("the producer's epoch was raised".to_owned());
        }
        let waiting = |broker: &BrokerCounters| broker.outbuf_cnt != 0 || broker.waitresp_cnt != 0;
        if let Some((name, _)) = self.brokers.iter().find(|(_, broker)| waiting(broker)) {
            return Judgement::Waiting(format!("a request to broker {name} waits for its answer"));
        }
        if self.eos.idemp_state != "Assigned" || self.eos.txn_state != "Ready" {
            let (idempotence, transaction) = (&self.eos.idemp_state, &self.eos.txn_state);
            return Judgement::Waiting(format!("the producer is {idempotence} and {transaction}"));
        }
        Judgement::Answered
    }

    /// What was not answered since the producer was made; `None` if nothing (R6).
    pub(super) fn unanswered_since_creation(&self) -> Option<String> {
        self.difference(None)
    }

    fn difference(&self, baseline: Option<&Self>) -> Option<String> {
        if let Some(gone) = baseline
            .iter()
            .flat_map(|earlier| earlier.brokers.keys())
            .find(|name| !self.brokers.contains_key(*name))
        {
            return Some(format!("librdkafka dropped its counters of broker {gone}"));
        }
        let unknown = BrokerCounters::default();
        self.brokers.iter().find_map(|(name, later)| {
            let earlier = baseline
                .and_then(|earlier| earlier.brokers.get(name))
                .unwrap_or(&unknown);
            later
                .raised_since(earlier)
                .map(|what| format!("{what} on broker {name}"))
        })
    }
}

impl BrokerCounters {
    fn raised_since(&self, earlier: &Self) -> Option<&'static str> {
        if self.disconnects != earlier.disconnects {
            return Some("a connection broke");
        }
        if self.req_timeouts != earlier.req_timeouts {
            return Some("a request timed out");
        }
        (self.rxcorriderrs != earlier.rxcorriderrs).then_some("an answer matched no request")
    }
}

/// Keeps the latest event. It stays raw, because most events are never looked at.
#[derive(Default)]
pub(super) struct StatisticsTap {
    latest: Mutex<RawEvent>,
    arrived: Notify,
}

/// An event as it came.
#[derive(Clone, Default)]
pub(super) struct RawEvent {
    json: Vec<u8>,
    received_us: i64,
}

impl RawEvent {
    /// What it says.
    pub(super) fn parse(&self) -> Result<ProducerStatistics, String> {
        let event = ProducerStatistics::parse(&self.json)?;
        if event.generated_us > self.received_us {
            return Err("librdkafka's clock differs from this process's".to_owned());
        }
        Ok(event)
    }
}

impl StatisticsTap {
    /// Takes an event in; called by librdkafka's events.
    pub(super) fn put(&self, json: &[u8]) {
        let received_us = monotonic_us();
        {
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            latest.json.clear();
            latest.json.extend_from_slice(json);
            latest.received_us = received_us;
        }
        self.arrived.notify_waiters();
    }

    /// The latest event, if there was one.
    pub(super) fn latest(&self) -> Option<RawEvent> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        (!latest.json.is_empty()).then(|| latest.clone())
    }

    /// The latest event, if it was received after `instant_us`: no other was generated after it.
    fn received_after(&self, instant_us: i64) -> Result<Option<ProducerStatistics>, String> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let later = latest.received_us > instant_us;
        later.then(|| latest.parse()).transpose()
    }

    /// The first event to be seen that was generated after `instant_us`.
    pub(super) async fn generated_after(
        &self,
        instant_us: i64,
        patience: Duration,
    ) -> Result<ProducerStatistics, String> {
        let deadline = Instant::now() + patience;
        loop {
            let mut arrived = std::pin::pin!(self.arrived.notified());
            // Registered before the check, so that no event slips through between the two.
            arrived.as_mut().enable();
            if let Some(event) = self.received_after(instant_us)?
                && event.generated_us > instant_us
            {
                return Ok(event);
            }
            timeout_at(deadline, arrived)
                .await
                .map_err(|_| "librdkafka sent no statistics in time".to_owned())?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Judgement, ProducerStatistics, StatisticsTap, monotonic_us};

    fn event(ts: i64, brokers: &[(&str, i64, u64, i64)]) -> String {
        let brokers: Vec<String> = brokers
            .iter()
            .map(|(name, disconnects, timeouts, waiting)| {
                format!(
                    r#""{name}":{{"name":"{name}","outbuf_cnt":0,"waitresp_cnt":{waiting},
                    "req_timeouts":{timeouts},"rxcorriderrs":0,"disconnects":{disconnects},
                    "rtt":{{"min":1}}}}"#
                )
            })
            .collect();
        format!(
            r#"{{"name":"p","ts":{ts},"brokers":{{{}}},"topics":{{}},"eos":{{
            "idemp_state":"Assigned","idemp_stateage":1,"txn_state":"Ready","txn_may_enq":false,
            "producer_id":7,"producer_epoch":3,"epoch_cnt":1}}}}"#,
            brokers.join(",")
        )
    }

    fn parsed(brokers: &[(&str, i64, u64, i64)]) -> ProducerStatistics {
        ProducerStatistics::parse(event(1, brokers).as_bytes()).expect("readable")
    }

    #[test]
    fn unchanged_counters_and_nothing_waiting_prove_it() {
        // An idle disconnect before the baseline does not matter.
        let baseline = parsed(&[("a/1", 3, 1, 1), ("TxnCoordinator", 0, 0, 0)]);
        let later = parsed(&[
            ("a/1", 3, 1, 0),
            ("TxnCoordinator", 0, 0, 0),
            ("b/2", 0, 0, 0),
        ]);
        assert_eq!(later.judge(&baseline), Judgement::Answered);
    }

    #[test]
    fn a_disconnect_a_timeout_and_a_lost_counter_spoil_it() {
        let baseline = parsed(&[("a/1", 3, 1, 0), ("TxnCoordinator", 0, 0, 0)]);
        for (later, word) in [
            (
                parsed(&[("a/1", 3, 1, 0), ("TxnCoordinator", 1, 0, 0)]),
                "broke",
            ),
            (
                parsed(&[("a/1", 3, 2, 0), ("TxnCoordinator", 0, 0, 0)]),
                "timed out",
            ),
            (parsed(&[("a/1", 3, 1, 0)]), "dropped"),
            (
                parsed(&[
                    ("a/1", 3, 1, 0),
                    ("TxnCoordinator", 0, 0, 0),
                    ("new/2", 1, 0, 0),
                ]),
                "broke",
            ),
        ] {
            match later.judge(&baseline) {
                Judgement::Unanswered(why) => assert!(why.contains(word), "{why}"),
                other => panic!("{other:?} where {word} was expected"),
            }
        }
    }

    #[test]
    fn a_waiting_request_leaves_it_open() {
        let baseline = parsed(&[("a/1", 0, 0, 0)]);
        let later = parsed(&[("a/1", 0, 0, 1)]);
        assert!(matches!(later.judge(&baseline), Judgement::Waiting(_)));
    }

    #[test]
    fn a_raised_epoch_spoils_it() {
        let baseline = parsed(&[("a/1", 0, 0, 0)]);
        let raised = event(1, &[("a/1", 0, 0, 0)]).replace(r#"epoch":3"#, r#"epoch":4"#);
        let later = ProducerStatistics::parse(raised.as_bytes()).expect("readable");
        assert!(matches!(later.judge(&baseline), Judgement::Unanswered(_)));
    }

    #[tokio::test]
    async fn only_an_event_generated_after_the_instant_counts() {
        let tap = StatisticsTap::default();
        let instant = monotonic_us();
        tap.put(event(instant - 1, &[]).as_bytes());
        let early = tap
            .generated_after(instant, Duration::from_millis(20))
            .await;
        assert!(early.is_err());
        // Generated in the microsecond of the call itself: perhaps before it returned.
        tap.put(event(instant, &[]).as_bytes());
        assert!(
            tap.generated_after(instant, Duration::from_millis(20))
                .await
                .is_err()
        );
        tap.put(event(instant + 1, &[]).as_bytes());
        let late = tap
            .generated_after(instant, Duration::from_millis(20))
            .await;
        assert_eq!(late.expect("it is late enough").generated_us, instant + 1);
    }

    #[tokio::test]
    async fn an_event_from_the_future_proves_that_the_clocks_differ() {
        let tap = StatisticsTap::default();
        tap.put(event(monotonic_us() + 60_000_000, &[]).as_bytes());
        let found = tap.generated_after(0, Duration::from_millis(20)).await;
        assert!(found.expect_err("refused").contains("clock"));
    }
}
