//! Tells how it goes, once a second, beside the work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gtc::views::{ForeignInfo, Status};
use gtc::{Coordinator, TransactionalConsumer};

use gtc::metrics::MetricKind;

use super::progress::{Display, FINISHED, Progress};
use super::table;
use super::unsettled::Unsettled;
use crate::endpoint::Health;

/// Branches of another log, in the health answer.
const FOREIGN: &str = "open branches of another log";

/// That the coordinator stopped, or its log takes nothing any more, in the health answer.
const COORDINATOR: &str = "coordinator";

/// What is said of branches that another log left open; nothing where there are none.
pub(crate) fn describe_foreign(foreign: &[ForeignInfo]) -> Option<String> {
    if foreign.is_empty() {
        return None;
    }
    let named = foreign.iter().map(|branch| {
        let (participant, id) = (&branch.participant, &branch.transactional_id);
        format!("{participant}:{id}")
    });
    let named: Vec<String> = named.collect();
    Some(format!(
        "another log left branches open under this coordinator's id, which hold back the group or \
         the readers: {}; decide each by the data of the other clusters, and end it with \
         `gtc resolve PARTICIPANT:ID --commit|--abort`. Where another process runs under this id, \
         give one of them an id of its own",
        named.join(", ")
    ))
}

/// Shared by the mirror and the task that reports.
#[derive(Clone)]
pub(crate) struct Reporter {
    shared: Arc<Mutex<Shared>>,
    health: Health,
    /// The participant that is read from.
    source: Arc<str>,
}

struct Shared {
    progress: Progress,
    display: Display,
    finished: bool,
}

impl Reporter {
    /// Starts to report.
    pub(crate) fn start(
        json: bool,
        (health, source): (Health, String),
        coordinator: Coordinator,
    ) -> Self {
        describe_metrics();
        // Nothing is known yet, which must not look like a mirror that is not behind.
        metrics::gauge!(table::LAG_STALE).set(1.0);
        let shared = Shared {
            progress: Progress::new(Instant::now()),
            display: Display::new(json),
            finished: false,
        };
        let reporter = Self {
            shared: Arc::new(Mutex::new(shared)),
            health,
            source: source.into(),
        };
        tokio::spawn(reporter.clone().tick(coordinator));
        reporter
    }

    /// What is wrong now.
    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// A batch was committed.
    pub(crate) fn committed(&self, batch: &Counts, latency: Duration) {
        let mut shared = self.lock();
        let totals = shared.progress.totals();
        totals.records += batch.records;
        totals.bytes += batch.bytes;
        totals.filtered += batch.filtered;
        shared.progress.committed(latency);
        drop(shared);
        metrics::counter!(table::RECORDS).increment(batch.records);
        metrics::counter!(table::BYTES).increment(batch.bytes);
        metrics::counter!(table::FILTERED).increment(batch.filtered);
        metrics::counter!(table::BATCHES).increment(1);
        metrics::histogram!(table::COMMIT_SECONDS).record(latency.as_secs_f64());
    }

    /// A batch aborted.
    pub(crate) fn aborted(&self) {
        self.lock().progress.totals().aborted += 1;
        metrics::counter!(table::ABORTED).increment(1);
    }

    /// Records were lost at the source.
    pub(crate) fn lost(&self, records: u64) {
        self.lock().progress.totals().lost += records;
        metrics::counter!(table::LOST).increment(records);
        metrics::counter!(table::LOSSES).increment(1);
    }

    /// How far the mirror is behind, as far as that is known.
    pub(crate) fn see_lag(&self, consumer: &TransactionalConsumer) {
        if let Some(lag) = consumer.behind() {
            self.set_lag(lag);
        }
    }

    /// How far the mirror is behind, as of so long ago.
    pub(crate) fn set_lag(&self, (lag, age): (u64, Duration)) {
        self.lock().progress.set_lag((lag, age), Instant::now());
        metrics::gauge!(table::LAG).set(lag as f64);
    }

    /// How many topics are mirrored.
    pub(crate) fn set_topics(&self, topics: usize) {
        self.lock().progress.set_topics(topics);
    }

    /// What the user should know at the end, beside the counts.
    pub(crate) fn warn(&self, text: String) {
        tracing::warn!("{text}");
        self.lock().progress.warn(text);
    }

    /// The transaction that the mirror ends at, for the last report.
    pub(crate) fn unsettled(&self, unsettled: Unsettled) {
        self.lock().progress.unsettled(unsettled);
    }

    /// What is in hand has been so for this long; zero once nothing is.
    pub(crate) fn in_hand(&self, age: Duration) {
        metrics::gauge!(table::BATCH_AGE).set(age.as_secs_f64());
    }

    /// The last report.
    pub(crate) fn finish(&self) {
        let mut shared = self.lock();
        shared.finished = true;
        shared.show(FINISHED);
    }

    async fn tick(self, coordinator: Coordinator) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        ticks.tick().await;
        loop {
            ticks.tick().await;
            self.look_at(&coordinator.status());
            let mut shared = self.lock();
            if shared.finished {
                return;
            }
            shared.show("progress");
        }
    }

    fn look_at(&self, status: &Status) {
        for participant in &status.participants {
            let subject = format!("participant {}", participant.name);
            match &participant.detail {
                Some(detail) => self.health.degrade(subject, detail),
                None => self.health.restore(&subject),
            }
        }
        match &status.stopped {
            Some(why) => self.health.degrade(COORDINATOR, why),
            None => self.health.restore(COORDINATOR),
        }
        match describe_foreign(&status.foreign) {
            Some(text) => self.health.degrade(FOREIGN, text),
            None => self.health.restore(FOREIGN),
        }
        let source = status
            .participants
            .iter()
            .find(|found| found.name == *self.source);
        let is_reachable = source.is_some_and(|source| source.state == "verified");
        let is_stale = self.lock().progress.judge_lag(is_reachable, Instant::now());
        metrics::gauge!(table::LAG_STALE).set(f64::from(u8::from(is_stale)));
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn show(&mut self, event: &'static str) {
        let now = Instant::now();
        let report = self.progress.report(event, now);
        self.display.show(&report, now);
    }
}

/// What one batch adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Records read.
    pub(crate) records: u64,
    /// Bytes of their keys and values.
    pub(crate) bytes: u64,
    /// Sends left out.
    pub(crate) filtered: u64,
}

fn describe_metrics() {
    for (name, kind, text) in table::TABLE {
        match kind {
            MetricKind::Counter => {
                metrics::describe_counter!(*name, *text);
                // Shown from the start, so that a watcher need not guess what is missing.
                metrics::counter!(*name).increment(0);
            }
            MetricKind::Gauge => metrics::describe_gauge!(*name, *text),
            MetricKind::Histogram => {
                metrics::describe_histogram!(*name, metrics::Unit::Seconds, *text);
            }
        }
    }
}
