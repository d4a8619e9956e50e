//! The consumer's thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::oneshot;

use super::batch::{Batch, Building, GroupOffsets, Membership};
use super::committed::committed_offsets;
use super::context::{GroupChange, ReaderContext};
use super::link::{Lag, Offsets, Place, merge};
use super::position::{ConsumerStatistics, Positions};
use super::settings::ConsumerSettings;
use super::{ConsumerEvent, Job, Shared, Task};
use crate::kafka::error::{DataError, DataErrorKind};
use crate::kafka::failure;
use crate::kafka::record::{ConsumedRecord, PartitionOffset};

/// How long one poll waits; it bounds how long a request of the caller waits.
const POLL_SLICE: Duration = Duration::from_millis(25);
/// How long to wait before positions that could not be resolved are looked at again.
const RESOLVE_PAUSE: Duration = Duration::from_secs(1);
/// How long a question to the cluster may take.
pub(super) const ASK_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs until the consumer is closed or fails.
pub(super) fn run(
    settings: &ConsumerSettings,
    shared: &Arc<Shared>,
    report: oneshot::Sender<Result<(), DataError>>,
) {
    let mut reader = match Reader::open(settings, shared) {
        Ok(reader) => reader,
        Err(error) => {
            let _ = report.send(Err(error));
            return;
        }
    };
    // A caller that went away has closed the consumer.
    let _ = report.send(Ok(()));
    loop {
        if let Err(error) = reader.rewind() {
            shared.fail(error);
        }
        match shared.next_task() {
            Task::End => break,
            Task::Look => {}
            Task::Run(job) => reader.run_job(job),
            Task::Read => reader.read(),
        }
    }
    // In this order: whoever asks from now on is refused, and whoever still waits learns that there is no answer.
    shared.fail(settings.error(DataErrorKind::Closed, "it is closed"));
    shared.lock().jobs.clear();
}

pub(super) struct Reader<'a> {
    pub(super) settings: &'a ConsumerSettings,
    pub(super) shared: &'a Arc<Shared>,
    pub(super) consumer: BaseConsumer<ReaderContext>,
    pub(super) positions: Positions,
    /// Partitions that wait to be resumed.
    pub(super) held: Vec<Place>,
    /// When to look for positions again, after that has failed.
    resolve_at: Option<Instant>,
    building: Building,
    membership: Option<Arc<Membership>>,
    /// Whether partitions were ever assigned to it.
    has_joined: bool,
}

impl<'a> Reader<'a> {
    fn open(settings: &'a ConsumerSettings, shared: &'a Arc<Shared>) -> Result<Self, DataError> {
        let reader = Self {
            settings,
            shared,
            consumer: connect(settings, shared)?,
            positions: Positions::new(),
            held: Vec::new(),
            resolve_at: None,
            building: Building::default(),
            membership: None,
            has_joined: false,
        };
        if settings.instance.is_none() {
            reader.subscribe()?;
        }
        Ok(reader)
    }

    fn subscribe(&self) -> Result<(), DataError> {
        let topics: Vec<&str> = self.settings.topics.iter().map(String::as_str).collect();
        let refused = |error| refused(self.settings, &error);
        self.consumer.subscribe(&topics).map_err(refused)
    }

    /// A static member joins; what goes wrong ends the consumer.
    fn join(&self) {
        if let Err(error) = self.subscribe() {
            self.shared.fail(error);
        }
    }

    /// The predecessor heard that it was removed and joined again, before this one had joined. Once more,
    /// and the one that came first is the one that fails.
    fn join_again(&mut self) {
        match connect(self.settings, self.shared) {
            Ok(consumer) => {
                self.consumer = consumer;
                self.join();
            }
            Err(error) => self.shared.fail(error),
        }
    }

    /// One poll and what it brings.
    fn read(&mut self) {
        let limits = &self.settings.limits;
        let wait = self
            .building
            .time_left(limits)
            .map_or(POLL_SLICE, |left| left.min(POLL_SLICE));
        let positions = &self.positions;
        let polled = self.consumer.poll(wait);
        let polled = polled.map(|outcome| outcome.map(|message| own(&message, positions)));
        for change in self.consumer.context().take_changes() {
            self.apply(change);
        }
        // Before the record: statistics were generated before it was taken out of the queue.
        if let Some(json) = self.consumer.context().take_statistics() {
            self.learn(&json);
        }
        match polled {
            Some(Ok(record)) => self.take(record),
            Some(Err(error)) => self.on_error(&error),
            None => {}
        }
        if self
            .resolve_at
            .is_some_and(|instant| instant <= Instant::now())
        {
            self.try_resolve();
        }
        if self.building.is_due(&self.settings.limits) {
            self.hand_out();
        }
    }

    fn take(&mut self, record: ConsumedRecord) {
        if self.membership.is_none() {
            return;
        }
        let position = self
            .positions
            .entry((record.topic.clone(), record.partition))
            .or_default();
        let start = position.next.unwrap_or(record.offset);
        if record.offset < start {
            // Fetched before the position was set forward, or fetched twice.
            return;
        }
        position.pass(record.offset);
        self.building.add(record, start);
    }

    fn hand_out(&mut self) {
        let Some(membership) = self.membership.clone() else {
            return;
        };
        let link = &self.shared.link;
        let Some((sequence, epoch)) = link.enter(self.building.starts.clone()) else {
            return;
        };
        let built = std::mem::take(&mut self.building);
        let ends = built
            .ends
            .into_iter()
            .map(|((topic, partition), offset)| PartitionOffset {
                topic,
                partition,
                offset,
                metadata: String::new(),
            });
        let offsets = GroupOffsets::new(ends.collect(), membership, link.clone(), epoch);
        let batch = Batch::new(built.records, offsets, sequence);
        self.shared.put_ready(ConsumerEvent::Batch(batch));
    }

    fn apply(&mut self, change: GroupChange) {
        self.building = Building::default();
        self.positions.clear();
        self.held.clear();
        self.resolve_at = None;
        self.membership = None;
        let event = match change {
            GroupChange::Assigned(places, metadata) => {
                self.has_joined = true;
                self.membership = Some(Arc::new(Membership {
                    participant: self.shared.participant.clone(),
                    group: self.settings.group.clone(),
                    metadata,
                }));
                let unknown = places
                    .iter()
                    .map(|place| (place.clone(), Default::default()));
                self.positions = unknown.collect();
                ConsumerEvent::Assigned(places)
            }
            GroupChange::Revoked => ConsumerEvent::Revoked,
            GroupChange::Failed(why) => ConsumerEvent::Trouble(why),
        };
        self.shared.put_ready(event);
    }

    fn learn(&mut self, json: &[u8]) {
        let statistics = match ConsumerStatistics::parse(json) {
            Ok(statistics) => statistics,
            Err(error) => {
                tracing::warn!(participant = %self.shared.participant, %error, "statistics");
                return;
            }
        };
        if self.membership.is_some() {
            for (place, from, to) in statistics.advances(&self.positions) {
                if let Some(position) = self.positions.get_mut(&place) {
                    position.next = Some(to);
                }
                self.building.advance(place, from, to);
            }
        }
        let mut lines = statistics.lag(&self.positions);
        for line in &mut lines {
            let place = (line.topic.clone(), line.partition);
            line.open = self.building.starts.get(&place).copied();
        }
        let is_assigned = self.membership.is_some();
        self.shared.link.learn(Lag {
            is_whole: is_assigned && lines.len() == self.positions.len(),
            lines,
            at: Some(Instant::now()),
        });
    }

    fn on_error(&mut self, error: &KafkaError) {
        let why = failure::describe(error);
        match error {
            KafkaError::MessageConsumptionFatal(RDKafkaErrorCode::FencedInstanceId)
                if !self.has_joined =>
            {
                self.join_again();
            }
            KafkaError::MessageConsumptionFatal(_) => {
                self.shared
                    .fail(self.settings.error(DataErrorKind::Unavailable, &why));
            }
            KafkaError::MessageConsumption(RDKafkaErrorCode::AutoOffsetReset) => {
                self.try_resolve();
            }
            // A connection that broke; librdkafka makes a new one.
            KafkaError::MessageConsumption(
                RDKafkaErrorCode::BrokerTransportFailure
                | RDKafkaErrorCode::AllBrokersDown
                | RDKafkaErrorCode::OperationTimedOut
                | RDKafkaErrorCode::Resolve,
            ) => tracing::info!(participant = %self.shared.participant, %why, "consumer"),
            _ => self.shared.put_ready(ConsumerEvent::Trouble(why)),
        }
    }

    /// librdkafka does not ask again, so what fails is tried again.
    fn try_resolve(&mut self) {
        let outcome = self.resolve_positions();
        self.resolve_at = outcome.is_err().then(|| Instant::now() + RESOLVE_PAUSE);
        if let Err(error) = outcome {
            self.shared
                .put_ready(ConsumerEvent::Trouble(error.to_string()));
        }
    }

    /// Goes back to where given-up batches began.
    fn rewind(&mut self) -> Result<(), DataError> {
        let Some(mut goal) = self.shared.link.take_rewind() else {
            return Ok(());
        };
        merge(&mut goal, std::mem::take(&mut self.building).starts);
        goal.retain(|place, _| self.positions.contains_key(place) && !self.held.contains(place));
        self.seek(&goal)
    }

    /// Sets positions; whatever was fetched before is thrown away by librdkafka.
    pub(super) fn seek(&mut self, goal: &Offsets) -> Result<(), DataError> {
        if goal.is_empty() {
            return Ok(());
        }
        for (place, offset) in goal {
            self.positions
                .entry(place.clone())
                .or_default()
                .set(*offset);
        }
        self.shared.link.set_positions(goal);
        self.try_seek(goal).map_err(|error| {
            let why = format!("cannot set its position: {}", failure::describe(&error));
            self.settings.error(DataErrorKind::Unavailable, &why)
        })
    }

    /// Seeks first, because that makes librdkafka drop at once what it has fetched. A partition
    /// that it has stopped, for want of a position, cannot be sought and is assigned anew.
    fn try_seek(&mut self, goal: &Offsets) -> Result<(), KafkaError> {
        let mut list = TopicPartitionList::with_capacity(goal.len());
        for ((topic, partition), offset) in goal {
            list.add_partition_offset(topic, *partition, Offset::Offset(*offset))?;
        }
        let list = self.consumer.seek_partitions(list, ASK_TIMEOUT)?;
        if list.elements().iter().all(|place| place.error().is_ok()) {
            return Ok(());
        }
        let mut all = TopicPartitionList::with_capacity(self.positions.len());
        for (place, position) in &mut self.positions {
            position.forget_progress();
            if !self.held.contains(place) {
                let offset = position.next.map_or(Offset::Stored, Offset::Offset);
                all.add_partition_offset(&place.0, place.1, offset)?;
            }
        }
        self.consumer.assign(&all)
    }

    fn run_job(&mut self, job: Job) {
        // A caller that no longer waits needs no answer.
        match job {
            Job::Barrier(reply) => drop(reply.send(())),
            Job::Join => self.join(),
            Job::Committed(reply) => drop(reply.send(self.committed())),
            Job::ResumeAt(place, reply) => drop(reply.send(self.resume(place))),
        }
    }

    fn resume(&mut self, to: PartitionOffset) -> Result<(), DataError> {
        let place = (to.topic, to.partition);
        if !self.positions.contains_key(&place) {
            let why = format!("{} [{}] is not assigned to it", place.0, place.1);
            return Err(self.settings.error(DataErrorKind::InvalidState, &why));
        }
        // What was read of it before is void. Batches hold several partitions, so all go back.
        self.shared.link.abandon_all();
        self.rewind()?;
        self.held.retain(|held| *held != place);
        self.seek(&Offsets::from([(place, to.offset)]))
    }

    /// The committed offsets of the assigned partitions.
    pub(super) fn committed(&self) -> Result<Vec<PartitionOffset>, DataError> {
        let mut asked = TopicPartitionList::with_capacity(self.positions.len());
        for (topic, partition) in self.positions.keys() {
            asked.add_partition(topic, *partition);
        }
        if asked.count() == 0 {
            return Ok(Vec::new());
        }
        let told = committed_offsets(&self.consumer, &asked, ASK_TIMEOUT).map_err(|error| {
            let why = format!("its committed offsets: {}", failure::describe(&error));
            self.settings.error(DataErrorKind::Timeout, &why)
        })?;
        let known = told
            .elements()
            .into_iter()
            .filter_map(|place| match place.offset() {
                Offset::Offset(offset) => Some(PartitionOffset {
                    topic: place.topic().into(),
                    partition: place.partition(),
                    offset,
                    metadata: place.metadata().to_owned(),
                }),
                _ => None,
            });
        Ok(known.collect())
    }
}

fn connect(
    settings: &ConsumerSettings,
    shared: &Shared,
) -> Result<BaseConsumer<ReaderContext>, DataError> {
    let config = settings.client_config()?;
    let context = ReaderContext::new(settings.participant(), shared.link.clone());
    BaseConsumer::from_config_and_context(&config, context)
        .map_err(|error| refused(settings, &error))
}

fn refused(settings: &ConsumerSettings, error: &KafkaError) -> DataError {
    settings.error(DataErrorKind::Config, &failure::describe(error))
}

/// Copies a record out of librdkafka's memory; the topic's name is shared.
fn own(message: &BorrowedMessage<'_>, positions: &Positions) -> ConsumedRecord {
    let bytes = |part: Option<&[u8]>| part.map(Bytes::copy_from_slice);
    let headers = message.headers().map_or_else(Vec::new, |headers| {
        headers
            .iter()
            .map(|header| (header.key.to_owned(), bytes(header.value)))
            .collect()
    });
    ConsumedRecord {
        topic: topic_name(message.topic(), positions),
        partition: message.partition(),
        offset: message.offset(),
        key: bytes(message.key()),
        value: bytes(message.payload()),
        headers,
        timestamp_ms: message.timestamp().to_millis(),
    }
}

fn topic_name(topic: &str, positions: &Positions) -> Arc<str> {
    let found = positions.keys().find(|(known, _)| known.as_ref() == topic);
    found.map_or_else(|| topic.into(), |(known, _)| known.clone())
}
