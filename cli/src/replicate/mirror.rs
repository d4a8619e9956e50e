//! The loop of a mirror: event after event of the source, batch after batch into its transaction.

use std::pin::pin;
use std::time::{Duration, Instant};

use gtc::kafka::consumer::ConsumerSettings;
use gtc::kafka::properties::Properties;
use gtc::{
    Batch, BatchLimits, ConsumerEvent, Coordinator, ErrorKind, KnownOutcome, OffsetReset,
    ParticipantConfig, Transaction, TransactionId, TransactionalConsumer,
};
use tokio::time::{sleep, timeout};

use super::attempt::{self, Verdict};
use super::backoff::Backoff;
use super::catalogue::Catalogue;
use super::goal::Goal;
use super::group::Group;
use super::memory::Memory;
use super::reporter::{Counts, Reporter};
use super::route::Route;
use super::site::Site;
use super::unsettled;
use super::watch::{Watch, topics_of};
use crate::args::ReplicateArgs;
use crate::failure::{Exit, Failure};
use crate::signals::Shutdown;

/// How often topics and partitions of the source are looked at.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// How often librdkafka looks for new partitions.
const PARTITION_REFRESH_MS: &str = "5000";
/// How long the group waits for a member that has gone without a word.
const SESSION_TIMEOUT_MS: &str = "10000";
/// How often the loop turns where nothing comes.
const IDLE_INTERVAL: Duration = Duration::from_millis(200);
/// How often the outcome of a transaction in doubt is asked for.
const DOUBT_INTERVAL: Duration = Duration::from_millis(200);
/// From so many failures in a row on the mirror is not healthy.
const UNHEALTHY_FAILURES: u32 = 3;
/// What is wrong with the batch in hand, in the health answer.
const BATCH: &str = "batch";
/// That what is in hand takes long, in the health answer.
const WORK: &str = "work";
/// How long the source may take to tell its topics at the end.
const PARTING_PATIENCE: Duration = Duration::from_secs(2);
/// Work that takes longer is not healthy: a commit takes milliseconds.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// What a mirror is made of.
pub(crate) struct Parts {
    pub(crate) group: Group,
    pub(crate) route: Route,
    pub(crate) catalogue: Catalogue,
    pub(crate) source_config: ParticipantConfig,
    pub(crate) source: Site,
    pub(crate) destinations: Vec<Site>,
    pub(crate) coordinator: Coordinator,
    pub(crate) reporter: Reporter,
    pub(crate) shutdown: Shutdown,
    pub(crate) args: ReplicateArgs,
}

/// A mirror at work.
pub(crate) struct Mirror {
    parts: Parts,
    watch: Watch,
    backoff: Backoff,
    refreshed_at: Instant,
}

/// Why the loop over one consumer ended.
enum Turn {
    /// There is nothing more to do.
    Finished,
    /// The process was asked to end.
    Asked,
    /// The set of topics has changed: read with a new consumer.
    Reopen,
}

impl Mirror {
    /// A mirror that has not begun.
    pub(crate) fn new(parts: Parts, memory: Memory) -> Self {
        let of = (memory, parts.group.name());
        let watch = Watch::new(parts.args.on_loss, parts.reporter.clone(), of);
        Self {
            parts,
            watch,
            backoff: Backoff::default(),
            refreshed_at: Instant::now(),
        }
    }

    /// Runs until it is asked to end, has reached its goal, or cannot go on.
    pub(crate) async fn run(mut self) -> Result<(), Failure> {
        self.refresh().await?;
        let goal = self.goal().await?;
        loop {
            if self.parts.catalogue.names().is_empty() {
                if goal.is_some() {
                    self.warn_of_nothing();
                    return Ok(());
                }
                if self.wait_for_topics().await? {
                    return Ok(());
                }
                continue;
            }
            let consumer = self.open_consumer().await?;
            let turn = self.read(&consumer, goal.as_ref()).await;
            if turn.is_ok() {
                self.remember(&consumer).await?;
            }
            // Leaving the group lets others go on at once.
            consumer.close().await;
            self.watch.revoked();
            match turn? {
                Turn::Finished => return Ok(()),
                Turn::Asked => return asked(goal.as_ref()),
                Turn::Reopen => {}
            }
        }
    }

    /// For a topic that is made again before the next start. Who does not answer is not waited for.
    async fn remember(&mut self, consumer: &TransactionalConsumer) -> Result<(), Failure> {
        let lines = consumer.lag();
        let (topics, source) = (self.watch.topics(), &self.parts.source);
        let asked = async {
            let mut ends = Vec::new();
            for topic in topics {
                let found = source.ends(&topic).await?;
                ends.push((topic, found));
            }
            Ok::<_, Failure>((ends, source.topics().await?))
        };
        if let Ok(Ok((ends, topics))) = timeout(PARTING_PATIENCE, asked).await {
            self.watch.note(&lines, &topics);
            self.watch.note_ends(ends, &topics);
        }
        self.watch.remember()
    }

    /// A pattern with a slip in it ends as well as one whose topics are all mirrored.
    fn warn_of_nothing(&self) {
        let text = format!(
            "no topic of participant `{}` is selected, so that nothing was mirrored; correct --topics",
            self.parts.source.name()
        );
        self.parts.reporter.warn(text);
    }

    async fn goal(&self) -> Result<Option<Goal>, Failure> {
        if !self.parts.args.until_end {
            return Ok(None);
        }
        let names = self.parts.catalogue.names();
        Goal::now(&self.parts.group, &self.parts.source, &names)
            .await
            .map(Some)
    }

    /// Waits until a topic appears; true where the process is asked to end before.
    async fn wait_for_topics(&mut self) -> Result<bool, Failure> {
        tokio::select! {
            () = self.parts.shutdown.asked() => return Ok(true),
            () = sleep(REFRESH_INTERVAL) => {}
        }
        self.refresh().await?;
        Ok(false)
    }

    async fn refresh(&mut self) -> Result<bool, Failure> {
        self.refreshed_at = Instant::now();
        let Parts {
            catalogue,
            source,
            destinations,
            ..
        } = &mut self.parts;
        let is_changed = catalogue.refresh(source, destinations).await?;
        self.parts
            .reporter
            .set_topics(self.parts.catalogue.names().len());
        Ok(is_changed)
    }

    async fn open_consumer(&self) -> Result<TransactionalConsumer, Failure> {
        let Parts {
            source_config,
            group,
            catalogue,
            args,
            coordinator,
            ..
        } = &self.parts;
        let settings = ConsumerSettings {
            group: group.name().into(),
            // A mirror that comes back after a kill takes its own place at once: the coordinator's
            // id is its alone, as its log is.
            instance: Some(format!("gtc-{}", coordinator.id()).into()),
            topics: catalogue.names().into_iter().map(str::to_owned).collect(),
            reset: OffsetReset::Fail,
            limits: BatchLimits {
                records_max: args.batch_records,
                bytes_max: args.batch_bytes,
                linger: args.linger_ms,
            },
            properties: consumer_properties(source_config)?,
        };
        TransactionalConsumer::open(settings)
            .await
            .map_err(Failure::from_error)
    }

    async fn read(
        &mut self,
        consumer: &TransactionalConsumer,
        goal: Option<&Goal>,
    ) -> Result<Turn, Failure> {
        loop {
            if self.parts.shutdown.is_asked() {
                return Ok(Turn::Asked);
            }
            let event = tokio::select! {
                biased;
                () = self.parts.shutdown.asked() => return Ok(Turn::Asked),
                event = consumer.next() => Some(event.map_err(Failure::from_error)?),
                () = sleep(IDLE_INTERVAL) => None,
            };
            let is_idle = event.is_none();
            if let Some(event) = event {
                let reporter = self.parts.reporter.clone();
                attended(&reporter, consumer, self.handle(event, consumer)).await?;
            }
            self.parts.reporter.see_lag(consumer);
            if let Some(goal) = goal.filter(|_| is_idle)
                && goal.is_reached().await?
            {
                self.parts.reporter.set_lag((0, Duration::ZERO));
                self.watch.reached(goal.ends());
                return Ok(Turn::Finished);
            }
            if self.refreshed_at.elapsed() >= REFRESH_INTERVAL {
                let reporter = self.parts.reporter.clone();
                let lines = consumer.lag();
                match attended(&reporter, consumer, self.try_refresh()).await? {
                    Some(true) => return Ok(Turn::Reopen),
                    Some(false) => self.watch.note(&lines, self.parts.catalogue.ready()),
                    None => {}
                }
            }
        }
    }

    /// A source that does not answer now is no reason to end, and tells nothing; a topic that cannot be
    /// mirrored is.
    async fn try_refresh(&mut self) -> Result<Option<bool>, Failure> {
        match self.refresh().await {
            Err(failure) if failure.exit == Exit::Error => {
                tracing::warn!(%failure, "looking for new topics");
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    async fn handle(
        &mut self,
        event: ConsumerEvent,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        match event {
            ConsumerEvent::Assigned(places) => {
                tracing::info!(partitions = places.len(), "reading");
                self.watch
                    .assigned(places, &self.parts.source, consumer)
                    .await
            }
            ConsumerEvent::Revoked => {
                self.watch.revoked();
                Ok(())
            }
            ConsumerEvent::OutOfRange(event) => {
                self.watch
                    .out_of_range(event, &self.parts.source, consumer)
                    .await
            }
            ConsumerEvent::Trouble(why) => {
                tracing::warn!(why, "the source is in trouble");
                Ok(())
            }
            ConsumerEvent::Batch(batch) => self.replicate(batch, consumer).await,
            other => {
                tracing::warn!(?other, "the consumer says something new");
                Ok(())
            }
        }
    }

    async fn replicate(
        &mut self,
        mut batch: Batch,
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        if !self.is_covered(&batch) {
            self.refresh().await?;
        }
        let watch = &self.watch;
        batch
            .offsets_mut()
            .set_metadata(|topic, _| watch.metadata(topic));
        let transaction = match attempt::begin(&self.parts.coordinator) {
            Ok(transaction) => transaction,
            Err(verdict) => {
                return self
                    .settle(batch, consumer, (Counts::default(), verdict))
                    .await;
            }
        };
        let (written, current) = tokio::join!(
            attempt::write(&transaction, &self.parts.route, &batch),
            self.watch.is_current(&batch, &self.parts.source),
        );
        let is_current = match current {
            Ok(is_current) => is_current,
            Err(failure) => {
                // Whether the topics are still the same is not known: nothing is committed.
                let why = "the source did not tell its topics";
                self.give_up(transaction, &batch, why).await?;
                return self.read_again(batch, consumer, &failure.text).await;
            }
        };
        if !is_current {
            let why = "the topic was deleted and made again";
            self.give_up(transaction, &batch, why).await?;
            let topics = topics_of(&batch).into_iter().cloned().collect();
            drop(batch);
            return self.watch.renew(topics, &self.parts.source, consumer).await;
        }
        let outcome = match written {
            Ok(counts) => (counts, attempt::commit(transaction).await),
            Err(error) => (Counts::default(), attempt::abort(transaction, error).await),
        };
        self.settle(batch, consumer, outcome).await
    }

    /// Nothing was decided, so that it ends as aborted unless somebody else ended a branch.
    async fn give_up(
        &self,
        transaction: Transaction,
        batch: &Batch,
        why: &str,
    ) -> Result<(), Failure> {
        let id = transaction.id();
        match transaction.abort(why).await {
            Err(error) if error.kind() == ErrorKind::Heuristic => {
                Err(self.mixed((id, error.problem()), batch))
            }
            _ => Ok(()),
        }
    }

    fn mixed(&self, transaction: (TransactionId, &str), batch: &Batch) -> Failure {
        unsettled::mixed(transaction, batch, &self.parts.reporter)
    }

    fn in_doubt(&self, transaction: (TransactionId, &str), batch: &Batch) -> Failure {
        unsettled::in_doubt(transaction, batch, &self.parts.reporter)
    }

    fn is_covered(&self, batch: &Batch) -> bool {
        let catalogue = &self.parts.catalogue;
        batch
            .records
            .iter()
            .all(|record| catalogue.covers(&record.topic, record.partition))
    }

    async fn settle(
        &mut self,
        batch: Batch,
        consumer: &TransactionalConsumer,
        (counts, verdict): (Counts, Verdict),
    ) -> Result<(), Failure> {
        match verdict {
            Verdict::Committed(latency) => {
                self.watch.committed(batch.offsets().positions());
                batch.done();
                self.committed(&counts, latency);
                Ok(())
            }
            Verdict::Aborted(error) if batch.is_stale() => {
                tracing::info!(%error, "the batch is read again, here or by another instance");
                self.parts.reporter.health().restore(BATCH);
                self.parts.reporter.aborted();
                Ok(())
            }
            Verdict::Aborted(error) => self.read_again(batch, consumer, &error.to_string()).await,
            Verdict::InDoubt(id, error) => {
                tracing::warn!(%error, "in doubt: nothing more is sent until it is known");
                self.parts
                    .reporter
                    .health()
                    .degrade(BATCH, error.to_string());
                self.await_outcome(id, (batch, counts), consumer).await
            }
            Verdict::Mixed(id, error) => Err(self.mixed((id, error.problem()), &batch)),
            Verdict::Fatal(error) => Err(self.explain(error).await),
        }
    }

    /// A topic that is gone at a destination tells more than what its records ran into.
    async fn explain(&mut self, error: gtc::Error) -> Failure {
        match self.refresh().await {
            Err(failure) if failure.exit == Exit::Loss => failure,
            _ => Failure::from_library(error),
        }
    }

    fn committed(&mut self, counts: &Counts, latency: Duration) {
        self.backoff.after_success();
        self.parts.reporter.health().restore(BATCH);
        self.parts.reporter.committed(counts, latency);
    }

    /// The batch is not anywhere: back to its start, after a while.
    async fn read_again(
        &mut self,
        batch: Batch,
        consumer: &TransactionalConsumer,
        why: &str,
    ) -> Result<(), Failure> {
        let delay = self.backoff.after_failure();
        let failures = self.backoff.failures();
        tracing::warn!(
            why,
            failures,
            ?delay,
            "the batch aborted; it is read again from its start"
        );
        self.parts.reporter.aborted();
        if failures >= UNHEALTHY_FAILURES {
            let text = format!("aborted {failures} times in a row: {why}");
            self.parts.reporter.health().degrade(BATCH, text);
        }
        consumer.rewind(batch).await.map_err(Failure::from_error)?;
        tokio::select! {
            () = self.parts.shutdown.asked() => {}
            () = sleep(delay) => {}
        }
        Ok(())
    }

    /// Waits until it is known how a transaction ended: a batch whose outcome is unknown is never
    /// sent again.
    async fn await_outcome(
        &mut self,
        id: TransactionId,
        (batch, counts): (Batch, Counts),
        consumer: &TransactionalConsumer,
    ) -> Result<(), Failure> {
        let since = Instant::now();
        loop {
            match self.parts.coordinator.outcome(id) {
                KnownOutcome::Committed => {
                    self.watch.committed(batch.offsets().positions());
                    batch.done();
                    tracing::info!(%id, "no longer in doubt: committed");
                    self.committed(&counts, since.elapsed());
                    return Ok(());
                }
                KnownOutcome::Aborted => {
                    tracing::info!(%id, "no longer in doubt: aborted");
                    return self
                        .read_again(batch, consumer, "it was in doubt, and aborted")
                        .await;
                }
                KnownOutcome::Mixed => return Err(self.mixed((id, "it was in doubt"), &batch)),
                KnownOutcome::Undecided | KnownOutcome::InDoubt => {}
                // One branch alone leaves no record: it held offsets only, which may go twice. Records may not.
                _ if self.parts.route.sends_any(&batch.records) => {
                    return Err(unsettled::forgotten(id, &batch, &self.parts.reporter));
                }
                _ => {
                    return self
                        .read_again(batch, consumer, "nobody knows how it ended")
                        .await;
                }
            }
            if let Some(reason) = self.parts.coordinator.status().stopped {
                let why = format!("the coordinator stopped: {reason}");
                return Err(self.in_doubt((id, &why), &batch));
            }
            tokio::select! {
                () = self.parts.shutdown.asked() => {
                    let why = "asked to end before it was known";
                    return Err(self.in_doubt((id, why), &batch));
                }
                () = sleep(DOUBT_INTERVAL) => {}
            }
        }
    }
}

/// Keeps lag and health true beside work that may take long: what has no end in sight is told.
async fn attended<T>(
    reporter: &Reporter,
    consumer: &TransactionalConsumer,
    work: impl Future<Output = T>,
) -> T {
    let since = Instant::now();
    let mut work = pin!(work);
    let mut warned = false;
    let done = loop {
        tokio::select! {
            biased;
            done = &mut work => break done,
            () = sleep(IDLE_INTERVAL) => {}
        }
        let age = since.elapsed();
        reporter.see_lag(consumer);
        reporter.in_hand(age);
        if age >= STUCK_AFTER {
            let text = format!("what is in hand has been under way for {} s", age.as_secs());
            if !std::mem::replace(&mut warned, true) {
                tracing::warn!("{text}; it goes on, and /health tells for how long");
            }
            reporter.health().degrade(WORK, text);
        }
    };
    reporter.in_hand(Duration::ZERO);
    reporter.health().restore(WORK);
    done
}

/// The participant's properties, and what a mirror needs beside them unless the user says
/// otherwise.
fn consumer_properties(source: &ParticipantConfig) -> Result<Properties, Failure> {
    let given = source.kafka_properties().map_err(Failure::config)?;
    let wanted = [
        ("session.timeout.ms", SESSION_TIMEOUT_MS),
        ("topic.metadata.refresh.interval.ms", PARTITION_REFRESH_MS),
    ];
    let missing = wanted.iter().filter(|(name, _)| given.get(name).is_none());
    let config = missing.fold(source.clone(), |config, (name, value)| {
        config.property(*name, *value)
    });
    config.kafka_properties().map_err(Failure::config)
}

/// A run that was to reach an end and was ended before has to be told from one that reached it: a
/// script goes on after the one, and not after the other.
fn asked(goal: Option<&Goal>) -> Result<(), Failure> {
    match goal {
        None => Ok(()),
        Some(_) => Err(Failure::with(
            Exit::Interrupted,
            "asked to end before everything was mirrored that the source held at the start; what was \
             in hand is finished: run the same command again to go on",
        )),
    }
}
