//! A participant in memory, with the answers of a broker and faults on request: for tests of the
//! runtime, where a real broker adds nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use gtc_core::{
    BranchIdentity, BrokerState, ConnectReport, Decision, EndAnswer, Inquiry, ListedTransaction,
    Listing, PrepareReport, ProducerIdentity, SlotCondition, SlotFailure, SlotId,
    TransactionDescription, TransactionId, WriteReport,
};

use crate::arguments::Flaw;
use crate::config::{Config, ParticipantConfig};
use crate::coordinator::Coordinator;
use crate::error::{Error, ErrorKind};
use crate::kafka::consumer::GroupOffsets;
use crate::kafka::record::OutgoingRecord;
use crate::log::MemoryLog;
use crate::open::{self, Member};
use crate::participant::{Answer, OpenedSlot, Participant, Prepared};

/// The partition that an own producer writes to.
const WRITTEN: &str = "own-0";

/// A cluster and its clients.
#[derive(Default)]
pub(crate) struct Cluster {
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    /// What it says of its ceiling.
    pub(crate) ceiling_ms: Option<i64>,
    /// Deliveries fail from now on.
    pub(crate) deliveries_fail: bool,
    /// What it refuses for good, of all that was written.
    pub(crate) never_accepted: Option<Flaw>,
    /// Why nobody reaches it, if nobody does.
    pub(crate) unreachable: Option<String>,
    /// The action whose task panics from now on.
    pub(crate) panics_at: Option<&'static str>,
    /// What attempts to end a transaction are answered, instead of what they would be.
    pub(crate) end_answers: VecDeque<EndAnswer>,
    /// Nobody is answered who wants to end a transaction.
    pub(crate) silent: bool,
    /// Values of committed records.
    pub(crate) committed: Vec<Vec<u8>>,
    /// Values of aborted records.
    pub(crate) aborted: Vec<Vec<u8>>,
    /// Slots as they were opened: their time-outs.
    pub(crate) opened_with_ms: Vec<i32>,
    ids: HashMap<String, Id>,
    slots: HashMap<SlotId, Slot>,
    next_producer: i64,
}

struct Id {
    producer: ProducerIdentity,
    state: BrokerState,
    timeout_ms: i32,
    open: Vec<Vec<u8>>,
}

struct Slot {
    id: String,
    holder: Option<TransactionId>,
    report: WriteReport,
}

impl Cluster {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics in here")
    }

    /// A defect on purpose. It leaves the lock first, which the tests look through.
    fn panic_at(&self, action: &str) {
        let panics = self.state().panics_at == Some(action);
        assert!(!panics, "told to panic");
    }

    /// A record written by somebody's own producer.
    pub(crate) fn write_as(&self, transactional_id: &str, value: &[u8]) {
        let mut state = self.state();
        let id = state.ids.get_mut(transactional_id).expect("initialised");
        id.state = BrokerState::Ongoing;
        id.open.push(value.to_vec());
    }
}

impl State {
    pub(crate) fn initialise(&mut self, id: &str, timeout_ms: i32) -> ProducerIdentity {
        self.next_producer += 1;
        let producer = ProducerIdentity {
            producer_id: self.next_producer,
            epoch: 0,
        };
        let fresh = Id {
            producer,
            state: BrokerState::Empty,
            timeout_ms,
            open: Vec::new(),
        };
        if let Some(old) = self.ids.insert(id.to_owned(), fresh) {
            self.aborted.extend(old.open);
        }
        producer
    }

    fn end(&mut self, id: &str, decision: Decision) -> EndAnswer {
        if let Some(answer) = self.end_answers.pop_front() {
            return answer;
        }
        if self.silent {
            return EndAnswer::NoAnswer("told to be silent".to_owned());
        }
        let Some(found) = self.ids.get_mut(id) else {
            return EndAnswer::Code(49);
        };
        let values = std::mem::take(&mut found.open);
        match decision {
            Decision::Commit => {
                found.state = BrokerState::CompleteCommit;
                self.committed.extend(values);
            }
            Decision::Abort => {
                found.state = BrokerState::CompleteAbort;
                self.aborted.extend(values);
            }
        }
        EndAnswer::Acknowledged
    }

    fn describe(&self, id: &str) -> Inquiry {
        self.ids.get(id).map_or(Inquiry::NotFound, |found| {
            let started = found.state != BrokerState::Empty;
            Inquiry::Described(TransactionDescription {
                state: found.state,
                producer: found.producer,
                start_time_ms: if started { 1_000 } else { -1 },
                timeout_ms: found.timeout_ms,
            })
        })
    }

    fn send(&mut self, slot: SlotId, transaction: TransactionId, value: Vec<u8>) -> bool {
        let fails = self.deliveries_fail;
        let Some(slot) = self.slots.get_mut(&slot) else {
            return false;
        };
        if slot.holder != Some(transaction) {
            return false;
        }
        slot.report.sent += 1;
        match fails {
            true => slot.report.failed += 1,
            false => slot.report.delivered += 1,
        }
        let id = self.ids.get_mut(&slot.id).expect("a slot is initialised");
        id.state = BrokerState::Ongoing;
        id.open.push(value);
        true
    }
}

fn now<'a, T: Send + 'a>(answer: T) -> Answer<'a, T> {
    Box::pin(std::future::ready(answer))
}

impl Participant for Cluster {
    fn connect(&self) -> Answer<'_, Result<ConnectReport, String>> {
        if let Some(why) = self.state().unreachable.clone() {
            return now(Err(why));
        }
        now(Ok(ConnectReport {
            cluster_id: "memory".to_owned(),
            transaction_version: 2,
            timeout_ceiling_ms: self.state().ceiling_ms,
        }))
    }

    fn reach(&self, _patience: Duration) -> Answer<'_, Result<(), String>> {
        now(self.state().unreachable.clone().map_or(Ok(()), Err))
    }

    fn open_slot(
        &self,
        slot: SlotId,
        transactional_id: Arc<str>,
        timeout_ms: i32,
    ) -> Answer<'_, Result<OpenedSlot, SlotFailure>> {
        self.panic_at("open-slot");
        let mut state = self.state();
        let producer = state.initialise(&transactional_id, timeout_ms);
        state.opened_with_ms.push(timeout_ms);
        let opened = Slot {
            id: transactional_id.to_string(),
            holder: None,
            report: WriteReport::default(),
        };
        state.slots.insert(slot, opened);
        now(Ok((producer, SlotCondition::Clean)))
    }

    fn verify_slot(&self, slot: SlotId) -> Answer<'_, SlotCondition> {
        if let Some(slot) = self.state().slots.get_mut(&slot) {
            slot.report = WriteReport::default();
        }
        now(SlotCondition::Clean)
    }

    fn close_slot(&self, slot: SlotId) -> Answer<'_, ()> {
        self.state().slots.remove(&slot);
        now(())
    }

    fn lease(&self, slot: SlotId, transaction: TransactionId) {
        if let Some(slot) = self.state().slots.get_mut(&slot) {
            slot.holder = Some(transaction);
        }
    }

    fn send(
        &self,
        slot: SlotId,
        transaction: TransactionId,
        record: OutgoingRecord,
    ) -> Answer<'_, Result<(), Error>> {
        let value = record.value.unwrap_or_default().to_vec();
        let taken = self.state().send(slot, transaction, value);
        now(taken.then_some(()).ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidState,
                "send",
                "not the slot's transaction",
            )
        }))
    }

    fn send_offsets(
        &self,
        _slot: SlotId,
        _transaction: TransactionId,
        _offsets: GroupOffsets,
    ) -> Answer<'_, Result<(), Error>> {
        let problem = "there are no groups in memory";
        now(Err(Error::new(
            ErrorKind::Unsupported,
            "send offsets",
            problem,
        )))
    }

    fn prepare(
        &self,
        slot: SlotId,
        _transaction: TransactionId,
        transactional_id: Arc<str>,
    ) -> Answer<'_, Prepared> {
        self.panic_at("prepare");
        let mut state = self.state();
        let inquiry = state.describe(&transactional_id);
        let writer = state.ids.get(&*transactional_id).map(|id| id.producer);
        let slot = state.slots.get_mut(&slot).expect("a leased slot is open");
        slot.holder = None;
        let report = PrepareReport {
            writes: slot.report.clone(),
            writer,
            inquiry: (slot.report.sent > 0).then_some(inquiry),
            strayed: None,
        };
        let never_accepted = state.never_accepted.clone();
        now(Prepared {
            report,
            never_accepted,
        })
    }

    fn end_by_writer(
        &self,
        slot: SlotId,
        _transaction: TransactionId,
        decision: Decision,
    ) -> Answer<'_, EndAnswer> {
        self.panic_at("end");
        let mut state = self.state();
        let Some(found) = state.slots.get_mut(&slot) else {
            return now(EndAnswer::NotSent("the slot is not open".to_owned()));
        };
        found.holder = None;
        let (id, sent) = (found.id.clone(), found.report.sent);
        now(match sent {
            0 => EndAnswer::Acknowledged,
            _ => state.end(&id, decision),
        })
    }

    fn end_transaction(&self, branch: BranchIdentity, decision: Decision) -> Answer<'_, EndAnswer> {
        self.panic_at("end");
        now(self.state().end(&branch.transactional_id, decision))
    }

    fn inquire(&self, transactional_id: Arc<str>) -> Answer<'_, Inquiry> {
        now(self.state().describe(&transactional_id))
    }

    fn inquire_extent(&self, transactional_id: Arc<str>) -> Answer<'_, (Inquiry, Vec<String>)> {
        let state = self.state();
        let open = state.ids.get(&*transactional_id).map(|id| &id.open);
        let is_written = open.is_some_and(|open| !open.is_empty());
        let partitions = is_written.then(|| WRITTEN.to_owned());
        let partitions = partitions.into_iter().collect();
        now((state.describe(&transactional_id), partitions))
    }

    fn fence(&self, transactional_id: Arc<str>, timeout_ms: i32) -> Answer<'_, EndAnswer> {
        self.state().initialise(&transactional_id, timeout_ms);
        now(EndAnswer::Acknowledged)
    }

    fn list(&self, prefix: String) -> Answer<'_, Listing> {
        let state = self.state();
        let listed = state.ids.iter().filter(|(id, _)| id.starts_with(&prefix));
        let transactions = listed.map(|(id, found)| ListedTransaction {
            transactional_id: id.as_str().into(),
            producer_id: found.producer.producer_id,
            state: found.state,
        });
        now(Listing {
            transactions: transactions.collect(),
            complete: true,
            detail: None,
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        now(())
    }
}

/// A coordinator over a log in memory and two clusters in memory.
pub(crate) struct World {
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) eu: Arc<Cluster>,
    pub(crate) us: Arc<Cluster>,
    /// Bytes of records after which a checkpoint is written.
    pub(crate) checkpoint_bytes: u64,
    /// How long after its decision a caller waits.
    pub(crate) report_timeout_ms: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            log: Arc::new(MemoryLog::new("test", 7)),
            eu: Cluster::new(),
            us: Cluster::new(),
            checkpoint_bytes: crate::Limits::default().checkpoint_bytes,
            report_timeout_ms: crate::Limits::default().report_timeout_ms,
        }
    }

    pub(crate) async fn open(&mut self) -> Result<Coordinator, Error> {
        self.open_with(|participant| participant).await
    }

    /// Opens a coordinator, after the death of an earlier one if there was one.
    pub(crate) async fn open_with(
        &mut self,
        change: impl Fn(ParticipantConfig) -> ParticipantConfig,
    ) -> Result<Coordinator, Error> {
        let (log, replay) = self.log.reopen();
        self.log = log.clone();
        let mut config = Config::new("test", "unused");
        config.limits.enlist_timeout_ms = 500;
        config.limits.close_timeout_ms = 2_000;
        config.limits.watch_interval_ms = 10;
        config.limits.checkpoint_bytes = self.checkpoint_bytes;
        config.limits.report_timeout_ms = self.report_timeout_ms;
        let members = [("eu", &self.eu), ("us", &self.us)];
        let members = members.map(|(name, cluster)| Member {
            config: change(ParticipantConfig::kafka(name)),
            driver: cluster.clone(),
            kafka: None,
        });
        let shared = open::start(config, (log, replay), members.into()).await?;
        Ok(Coordinator::from_shared(shared))
    }
}

/// A record that is known by its value.
pub(crate) fn record(value: &'static str) -> OutgoingRecord {
    OutgoingRecord {
        value: Some(value.into()),
        ..OutgoingRecord::to("topic")
    }
}
