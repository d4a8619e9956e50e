//! Tells how it goes, once a second, beside the work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gtc::Coordinator;

use super::progress::{Display, Progress};
use crate::endpoint::Health;

/// Shared by the mirror and the task that reports.
#[derive(Clone)]
pub(crate) struct Reporter {
    shared: Arc<Mutex<Shared>>,
    health: Health,
}

struct Shared {
    progress: Progress,
    display: Display,
    finished: bool,
}

impl Reporter {
    /// Starts to report.
    pub(crate) fn start(json: bool, health: Health, coordinator: Coordinator) -> Self {
        describe_metrics();
        let shared = Shared {
            progress: Progress::new(Instant::now()),
            display: Display::new(json),
            finished: false,
        };
        let reporter = Self {
            shared: Arc::new(Mutex::new(shared)),
            health,
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
        metrics::counter!("gtc_replicate_records_total").increment(batch.records);
        metrics::counter!("gtc_replicate_bytes_total").increment(batch.bytes);
        metrics::counter!("gtc_replicate_filtered_total").increment(batch.filtered);
        metrics::counter!("gtc_replicate_batches_total").increment(1);
        metrics::histogram!("gtc_replicate_commit_seconds").record(latency.as_secs_f64());
    }

    /// A batch aborted.
    pub(crate) fn aborted(&self) {
        self.lock().progress.totals().aborted += 1;
        metrics::counter!("gtc_replicate_aborted_total").increment(1);
    }

    /// Records were lost at the source.
    pub(crate) fn lost(&self, records: u64) {
        self.lock().progress.totals().lost += records;
        metrics::counter!("gtc_replicate_lost_total").increment(records);
        metrics::counter!("gtc_replicate_losses_total").increment(1);
    }

    /// How far the mirror is behind.
    pub(crate) fn set_lag(&self, lag: u64) {
        self.lock().progress.set_lag(lag);
        metrics::gauge!("gtc_replicate_lag").set(lag as f64);
    }

    /// The last report.
    pub(crate) fn finish(&self) {
        let mut shared = self.lock();
        shared.finished = true;
        shared.show("finished");
    }

    async fn tick(self, coordinator: Coordinator) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        ticks.tick().await;
        loop {
            ticks.tick().await;
            self.look_at(&coordinator);
            let mut shared = self.lock();
            if shared.finished {
                return;
            }
            shared.show("progress");
        }
    }

    fn look_at(&self, coordinator: &Coordinator) {
        for participant in coordinator.status().participants {
            let subject = format!("participant {}", participant.name);
            match participant.detail {
                Some(detail) => self.health.degrade(subject, detail),
                None => self.health.restore(&subject),
            }
        }
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
    for (name, text) in [
        (
            "gtc_replicate_records_total",
            "Records read from the source and committed.",
        ),
        (
            "gtc_replicate_bytes_total",
            "Bytes of their keys and values.",
        ),
        (
            "gtc_replicate_filtered_total",
            "Sends left out, as the record came from there.",
        ),
        ("gtc_replicate_batches_total", "Committed batches."),
        (
            "gtc_replicate_aborted_total",
            "Batches that aborted and were read again.",
        ),
        (
            "gtc_replicate_lost_total",
            "Records lost at the source, as far as they can be counted.",
        ),
        (
            "gtc_replicate_losses_total",
            "Losses at the source that were gone over.",
        ),
    ] {
        metrics::describe_counter!(name, text);
        // Shown from the start, so that a watcher need not guess what is missing.
        metrics::counter!(name).increment(0);
    }
    metrics::describe_gauge!("gtc_replicate_lag", "Offsets that are not mirrored yet.");
    metrics::describe_histogram!("gtc_replicate_commit_seconds", "Time of a global commit.");
}
