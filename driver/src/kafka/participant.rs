//! A Kafka cluster as a participant: the pool's producers for the data, the control client for
//! everything that a producer cannot do or no longer can.

mod gate;
mod misplaced;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gtc_core::{
    BranchIdentity, ConnectReport, Decision, EndAnswer, Inquiry, Listing, PrepareReport,
    ProducerIdentity, SlotFailure, SlotId, TransactionId,
};
use tokio::task::JoinSet;

use super::consumer::{ConsumerSettings, GroupOffsets, TransactionalConsumer};
use super::control::{BrokerNode, ConfigResource, ControlClient, ControlError};
use super::error::{DataError, DataErrorKind};
use super::properties::Properties;
use super::record::OutgoingRecord;
use super::slot::{Place, SlotInstance, SlotSettings};
use crate::config::ParticipantConfig;
use crate::consumer::ConsumerOptions;
use crate::error::{Error, ErrorKind};
use crate::participant::{Answer, OpenedSlot, Participant, Prepared};
use gate::Gate;

/// The broker setting that bounds a transaction's time-out.
const CEILING: &str = "transaction.max.timeout.ms";
/// The most brokers that are asked for it.
const ASKED_BROKERS_MAX: usize = 64;

/// One Kafka cluster.
pub(crate) struct KafkaParticipant {
    properties: Properties,
    control: ControlClient,
    slots: Mutex<HashMap<SlotId, Arc<Slot>>>,
}

/// An open slot, and who may write through it.
struct Slot {
    instance: SlotInstance,
    producer: ProducerIdentity,
    gate: Gate,
}

impl Slot {
    async fn close(self: Arc<Self>) {
        self.gate.revoke().await;
        // A write that is just leaving may hold it for a moment; then the last holder drops it.
        if let Some(slot) = Arc::into_inner(self) {
            slot.instance.close().await;
        }
    }
}

impl KafkaParticipant {
    /// Reads the properties; brokers are connected to when they are needed.
    pub(crate) fn open(config: &ParticipantConfig) -> Result<Self, Error> {
        let properties = properties(config)?;
        let control = ControlClient::open(&properties).map_err(|error| {
            Error::new(ErrorKind::Config, "open", error.problem())
                .with_participant(config.name())
                .with_remedy(error.remedy())
                .with_source(error)
        })?;
        Ok(Self {
            properties,
            control,
            slots: Mutex::default(),
        })
    }

    /// Makes a consumer of this cluster.
    pub(crate) async fn consumer(
        &self,
        options: ConsumerOptions,
    ) -> Result<TransactionalConsumer, Error> {
        let settings = ConsumerSettings {
            instance: options.instance.map(Into::into),
            group: options.group.into(),
            topics: options.topics,
            reset: options.reset,
            limits: options.limits,
            properties: self.properties.clone(),
        };
        let opened = TransactionalConsumer::open(settings).await;
        opened.map_err(|error| data_error("make consumer", error))
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<SlotId, Arc<Slot>>> {
        // Every change of the map is one call, so that a panic elsewhere leaves it whole.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, slot: SlotId) -> Option<Arc<Slot>> {
        self.slots().get(&slot).cloned()
    }

    /// Runs a write of `transaction` through its slot, unless the slot is taken from it.
    async fn write<F>(
        &self,
        (operation, slot, transaction): (&'static str, SlotId, TransactionId),
        write: impl FnOnce(Arc<Slot>) -> F,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<(), DataError>>,
    {
        let ended = || {
            let problem = "the transaction takes no more writes: it is being ended";
            Error::new(ErrorKind::InvalidState, operation, problem)
                .with_remedy("look at the transaction's outcome")
        };
        let slot = self.slot(slot).ok_or_else(ended)?;
        let pass = slot.gate.enter(transaction).ok_or_else(ended)?;
        tokio::select! {
            biased;
            written = write(slot.clone()) => written.map_err(|error| data_error(operation, error)),
            () = pass.revoked() => Err(ended()),
        }
    }

    async fn connected(&self) -> Result<ConnectReport, ControlError> {
        let cluster = self.control.cluster().await?;
        let features = self.control.finalized_features().await?;
        Ok(ConnectReport {
            cluster_id: cluster.id,
            transaction_version: features.transaction_version(),
            timeout_ceiling_ms: self.ceiling_ms(&cluster.brokers).await,
        })
    }

    /// The lowest ceiling of all brokers: any of them may become the coordinator of a slot. A
    /// cluster that does not let us read its settings tells none.
    async fn ceiling_ms(&self, brokers: &[BrokerNode]) -> Option<i64> {
        let mut asked = JoinSet::new();
        for broker in brokers.iter().take(ASKED_BROKERS_MAX) {
            let (control, id) = (self.control.clone(), broker.id);
            asked.spawn(async move { control.describe_configs(&ConfigResource::Broker(id)).await });
        }
        let answers = asked.join_all().await;
        let ceilings = answers.into_iter().filter_map(|answer| match answer {
            Ok(settings) => settings.get(CEILING)?.parse().ok(),
            Err(error) => {
                tracing::debug!(target: "gtc", %error, "a broker does not tell its settings");
                None
            }
        });
        ceilings.min()
    }

    async fn opened(
        &self,
        slot: SlotId,
        transactional_id: Arc<str>,
        timeout_ms: i32,
    ) -> Result<OpenedSlot, SlotFailure> {
        let settings = SlotSettings {
            transactional_id,
            timeout_ms,
            properties: self.properties.clone(),
        };
        let (instance, producer, condition) = SlotInstance::open(settings).await?;
        let opened = Slot {
            instance,
            producer,
            gate: Gate::default(),
        };
        self.slots().insert(slot, Arc::new(opened));
        Ok((producer, condition))
    }

    async fn closed(&self, slot: SlotId) {
        let removed = self.slots().remove(&slot);
        if let Some(slot) = removed {
            slot.close().await;
        }
    }

    async fn prepared(&self, slot: SlotId, transactional_id: &str) -> Prepared {
        let Some(slot) = self.slot(slot) else {
            let report = PrepareReport {
                writes: gtc_core::WriteReport {
                    failed: 1,
                    detail: Some("the slot is not open".to_owned()),
                    ..Default::default()
                },
                writer: None,
                inquiry: None,
                strayed: None,
            };
            return report.into();
        };
        slot.gate.revoke().await;
        let mut writes = slot.instance.settle_deliveries().await;
        let never_accepted = self.never_accepted(&slot.instance).await;
        if let Some(flaw) = &never_accepted {
            writes.detail = Some(flaw.problem.clone());
        }
        let inquiry = match slot.instance.has_written() {
            true => Some(self.control.inquire(transactional_id).await),
            false => None,
        };
        Prepared {
            report: PrepareReport {
                writes,
                writer: Some(slot.producer),
                inquiry,
                strayed: None,
            },
            never_accepted,
        }
    }

    async fn ended(&self, slot: SlotId, decision: Decision) -> EndAnswer {
        let Some(slot) = self.slot(slot) else {
            return EndAnswer::NotSent("the slot is not open".to_owned());
        };
        slot.gate.revoke().await;
        match decision {
            Decision::Commit => slot.instance.commit().await,
            Decision::Abort => slot.instance.abort().await,
        }
    }
}

impl Participant for KafkaParticipant {
    fn connect(&self) -> Answer<'_, Result<ConnectReport, String>> {
        Box::pin(async { self.connected().await.map_err(|error| error.brief()) })
    }

    fn reach(&self, patience: Duration) -> Answer<'_, Result<(), String>> {
        Box::pin(async move {
            let reached = self.control.reach(patience).await;
            reached.map_err(|error| error.brief())
        })
    }

    fn open_slot(
        &self,
        slot: SlotId,
        transactional_id: Arc<str>,
        timeout_ms: i32,
    ) -> Answer<'_, Result<OpenedSlot, SlotFailure>> {
        Box::pin(self.opened(slot, transactional_id, timeout_ms))
    }

    fn verify_slot(&self, slot: SlotId) -> Answer<'_, gtc_core::SlotCondition> {
        Box::pin(async move {
            match self.slot(slot) {
                Some(slot) => slot.instance.verify().await,
                None => gtc_core::SlotCondition::Unproven("the slot is not open".to_owned()),
            }
        })
    }

    fn close_slot(&self, slot: SlotId) -> Answer<'_, ()> {
        Box::pin(self.closed(slot))
    }

    fn lease(&self, slot: SlotId, transaction: TransactionId) {
        if let Some(slot) = self.slot(slot) {
            slot.gate.open(transaction);
        }
    }

    fn send(
        &self,
        slot: SlotId,
        transaction: TransactionId,
        record: OutgoingRecord,
    ) -> Answer<'_, Result<(), Error>> {
        let of = ("send", slot, transaction);
        let write = move |slot: Arc<Slot>| async move {
            let sent = slot.instance.send(&record).await;
            match sent {
                Ok(()) => Ok(()),
                Err(error) => Err(self.weighed(error, &Place::of(&record)).await),
            }
        };
        Box::pin(self.write(of, write))
    }

    fn send_offsets(
        &self,
        slot: SlotId,
        transaction: TransactionId,
        offsets: GroupOffsets,
    ) -> Answer<'_, Result<(), Error>> {
        let of = ("send offsets", slot, transaction);
        let write = |slot: Arc<Slot>| async move { slot.instance.send_offsets(&offsets).await };
        Box::pin(self.write(of, write))
    }

    fn prepare(
        &self,
        slot: SlotId,
        _transaction: TransactionId,
        transactional_id: Arc<str>,
    ) -> Answer<'_, Prepared> {
        Box::pin(async move { self.prepared(slot, &transactional_id).await })
    }

    fn end_by_writer(
        &self,
        slot: SlotId,
        _transaction: TransactionId,
        decision: Decision,
    ) -> Answer<'_, EndAnswer> {
        Box::pin(self.ended(slot, decision))
    }

    fn end_transaction(&self, branch: BranchIdentity, decision: Decision) -> Answer<'_, EndAnswer> {
        Box::pin(async move {
            let commit = decision == Decision::Commit;
            let (id, class) = (&branch.transactional_id, branch.version_class);
            let attempt = self
                .control
                .end_transaction(id, branch.producer, class, commit);
            attempt.await.into()
        })
    }

    fn inquire(&self, transactional_id: Arc<str>) -> Answer<'_, Inquiry> {
        Box::pin(async move { self.control.inquire(&transactional_id).await })
    }

    fn inquire_extent(&self, transactional_id: Arc<str>) -> Answer<'_, (Inquiry, Vec<String>)> {
        Box::pin(async move { self.control.inquire_extent(&transactional_id).await })
    }

    fn fence(&self, transactional_id: Arc<str>, timeout_ms: i32) -> Answer<'_, EndAnswer> {
        Box::pin(async move {
            let attempt = self.control.init_producer_id(&transactional_id, timeout_ms);
            attempt.await.into()
        })
    }

    fn list(&self, prefix: String) -> Answer<'_, Listing> {
        Box::pin(async move { self.control.list_proved(&prefix).await })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            // At once: each may wait a moment for its threads.
            let closing: JoinSet<()> = self.slots().drain().map(|(_, slot)| slot.close()).collect();
            closing.join_all().await;
        })
    }
}

/// The checked properties of a participant.
pub(crate) fn properties(config: &ParticipantConfig) -> Result<Properties, Error> {
    let parsed =
        Properties::parse_written(config.name(), config.revealed(), config.written.clone());
    parsed.map_err(|error| {
        Error::new(ErrorKind::Config, "read properties", error.problem())
            .with_participant(config.name())
            .with_remedy(error.remedy())
            .with_source(error)
    })
}

impl From<DataError> for Error {
    /// What a consumer that the application holds runs into.
    fn from(error: DataError) -> Self {
        data_error("consume", error)
    }
}

/// An error of the data plane as the caller sees it.
pub(crate) fn data_error(operation: &'static str, error: DataError) -> Error {
    let kind = match error.kind() {
        DataErrorKind::Denied
        | DataErrorKind::NeverAccepted
        | DataErrorKind::NoSuchPartition
        | DataErrorKind::NoSuchTopic => ErrorKind::Config,
        DataErrorKind::Closed | DataErrorKind::InvalidState => ErrorKind::InvalidState,
        DataErrorKind::Config | DataErrorKind::ForeignGroup => ErrorKind::Config,
        DataErrorKind::Fenced => ErrorKind::Fenced,
        DataErrorKind::Timeout => ErrorKind::Timeout,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, operation, error.problem())
        .with_participant(error.participant())
        .with_remedy(error.kind().remedy())
        .with_source(error)
}
