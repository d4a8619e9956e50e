//! What a mirror tells while it runs: a line for people, an object a second for machines.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::unsettled::Unsettled;
use crate::output;

/// The name of the last report.
pub(crate) const FINISHED: &str = "finished";
/// How often a line is written where it cannot overwrite the one before.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Records read from the source and committed.
    pub(crate) records: u64,
    /// Bytes of their keys and values.
    pub(crate) bytes: u64,
    /// Sends left out, because the record has been in that destination before.
    pub(crate) filtered: u64,
    /// Committed batches.
    pub(crate) batches: u64,
    /// Batches that aborted and were read again.
    pub(crate) aborted: u64,
    /// Records lost at the source, as far as they can be counted.
    pub(crate) lost: u64,
}

/// One second of a mirror.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    /// `progress`, and `finished` for the last one.
    pub(crate) event: &'static str,
    /// Records since the start.
    pub(crate) records: u64,
    /// Bytes since the start.
    pub(crate) bytes: u64,
    /// Records a second since the report before; in the last one, since the start.
    pub(crate) records_per_s: f64,
    /// Bytes a second, likewise.
    pub(crate) bytes_per_s: f64,
    /// Offsets between the group's positions and the ends of the source; null before it is known.
    pub(crate) lag: Option<u64>,
    /// The ends of the source are not known now, so that the lag may be greater.
    pub(crate) lag_stale: bool,
    /// Seconds since the start.
    pub(crate) elapsed_s: f64,
    /// Topics that are mirrored.
    pub(crate) topics: usize,
    /// Batches committed since the start.
    pub(crate) batches: u64,
    /// Batches aborted since the start.
    pub(crate) aborted: u64,
    /// Sends left out since the start.
    pub(crate) filtered: u64,
    /// Records lost at the source since the start.
    pub(crate) lost: u64,
    /// The median of the commit latency, in milliseconds; null where nothing was committed.
    pub(crate) commit_p50_ms: Option<f64>,
    /// Its 99th percentile.
    pub(crate) commit_p99_ms: Option<f64>,
    /// What the user should know, in the last report.
    pub(crate) warnings: Vec<String>,
    /// The transaction that the mirror ended at, mixed or in doubt, in the last report.
    pub(crate) unsettled: Option<Unsettled>,
}

/// Collects what happened between two reports.
#[derive(Debug)]
pub(crate) struct Progress {
    totals: Totals,
    lag: Option<u64>,
    lag_at: Instant,
    lag_stale: bool,
    topics: usize,
    warnings: Vec<String>,
    unsettled: Option<Unsettled>,
    commit_latencies: Vec<Duration>,
    reported: Totals,
    reported_at: Instant,
    started_at: Instant,
}

/// A lag that is older than this tells nothing of now.
const LAG_FRESH: Duration = Duration::from_secs(5);

impl Progress {
    /// Starts to count at `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            totals: Totals::default(),
            lag: None,
            lag_at: now,
            lag_stale: true,
            topics: 0,
            warnings: Vec::new(),
            unsettled: None,
            commit_latencies: Vec::new(),
            reported: Totals::default(),
            reported_at: now,
            started_at: now,
        }
    }

    /// The counts, to be changed.
    pub(crate) fn totals(&mut self) -> &mut Totals {
        &mut self.totals
    }

    /// A commit took this long.
    pub(crate) fn committed(&mut self, latency: Duration) {
        self.totals.batches += 1;
        self.commit_latencies.push(latency);
    }

    /// The lag was this so long ago.
    pub(crate) fn set_lag(&mut self, (lag, age): (u64, Duration), now: Instant) {
        self.lag = Some(lag);
        self.lag_at = now.checked_sub(age).unwrap_or(now);
        self.lag_stale = age > LAG_FRESH;
    }

    /// Whether the lag tells nothing, or nothing of now, given whether the source answers.
    pub(crate) fn judge_lag(&mut self, source_answers: bool, now: Instant) -> bool {
        let is_old = now.saturating_duration_since(self.lag_at) > LAG_FRESH;
        self.lag_stale = self.lag.is_none() || !source_answers || is_old;
        self.lag_stale
    }

    /// So many topics are mirrored.
    pub(crate) fn set_topics(&mut self, topics: usize) {
        self.topics = topics;
    }

    /// To be told in the last report.
    pub(crate) fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }

    /// To be told in the last report.
    pub(crate) fn unsettled(&mut self, unsettled: Unsettled) {
        self.unsettled = Some(unsettled);
    }

    /// Closes the interval since the report before; the last one is about all of them.
    pub(crate) fn report(&mut self, event: &'static str, now: Instant) -> Report {
        let is_last = event == FINISHED;
        let (old, since) = match is_last {
            true => (Totals::default(), self.started_at),
            false => (self.reported, self.reported_at),
        };
        let seconds = now.duration_since(since).as_secs_f64().max(0.001);
        let new = self.totals;
        self.commit_latencies.sort_unstable();
        let report = Report {
            event,
            records: new.records,
            bytes: new.bytes,
            records_per_s: rounded((new.records - old.records) as f64 / seconds),
            bytes_per_s: rounded((new.bytes - old.bytes) as f64 / seconds),
            lag: self.lag,
            lag_stale: self.lag_stale,
            elapsed_s: rounded(now.duration_since(self.started_at).as_secs_f64()),
            topics: self.topics,
            batches: new.batches,
            aborted: new.aborted,
            filtered: new.filtered,
            lost: new.lost,
            commit_p50_ms: percentile_ms(&self.commit_latencies, 50),
            commit_p99_ms: percentile_ms(&self.commit_latencies, 99),
            warnings: match is_last {
                true => self.warnings.clone(),
                false => Vec::new(),
            },
            unsettled: self.unsettled.clone().filter(|_| is_last),
        };
        self.commit_latencies.clear();
        self.reported = new;
        self.reported_at = now;
        report
    }
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The nearest rank in sorted latencies.
fn percentile_ms(sorted: &[Duration], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    let latency = sorted.get(rank.checked_sub(1)?)?;
    Some((latency.as_secs_f64() * 100_000.0).round() / 100.0)
}

/// Where reports go.
#[derive(Debug)]
pub(crate) enum Display {
    /// One JSON object each, to stdout.
    Json,
    /// A line that overwrites itself, on a terminal.
    Terminal,
    /// A line now and then, into a file or a pipe.
    Plain(Option<Instant>),
}

impl Display {
    /// The display that suits the options and stderr.
    pub(crate) fn new(json: bool) -> Self {
        match (json, io::stderr().is_terminal()) {
            (true, _) => Self::Json,
            (false, true) => Self::Terminal,
            (false, false) => Self::Plain(None),
        }
    }

    /// Shows a report.
    pub(crate) fn show(&mut self, report: &Report, now: Instant) {
        let is_last = report.event == FINISHED;
        match self {
            Self::Json => output::json(report),
            // Clears to the end of the line, as the one before may have been longer.
            Self::Terminal => write_stderr(&format!("\r{}\x1b[K", describe(report)), is_last),
            Self::Plain(last) => {
                let is_due = last.is_none_or(|last| now.duration_since(last) >= PLAIN_INTERVAL);
                if is_due || is_last {
                    *last = Some(now);
                    write_stderr(&describe(report), true);
                }
            }
        }
    }
}

fn write_stderr(text: &str, ends_line: bool) {
    let end = if ends_line { "\n" } else { "" };
    let mut stderr = io::stderr().lock();
    // Nobody is left to tell where stderr is gone.
    let _ = write!(stderr, "{text}{end}").and_then(|()| stderr.flush());
}

fn describe(report: &Report) -> String {
    let lag = match (report.lag, report.lag_stale) {
        (None, _) => "?".to_owned(),
        (Some(lag), false) => lag.to_string(),
        (Some(lag), true) => format!("{lag} or more"),
    };
    let (records, batches) = (report.records, report.batches);
    let (per_s, mb_per_s) = (report.records_per_s, report.bytes_per_s / 1e6);
    let mut text = match report.event == FINISHED {
        true => format!(
            "{records} records, {:.2} MB in {:.1} s  on average {per_s:.0}/s  {mb_per_s:.2} MB/s  \
             lag {lag}  {batches} batches",
            report.bytes as f64 / 1e6,
            report.elapsed_s,
        ),
        false => format!(
            "{records} records  {per_s:.0}/s  {mb_per_s:.2} MB/s  lag {lag}  {batches} batches"
        ),
    };
    if let (Some(p50), Some(p99)) = (report.commit_p50_ms, report.commit_p99_ms) {
        text += &format!("  commit p50 {p50:.1} ms p99 {p99:.1} ms");
    }
    for (count, what) in [(report.aborted, "aborted"), (report.lost, "lost")] {
        if count > 0 {
            text += &format!("  {count} {what}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_one_second() -> (Progress, Instant) {
        let start = Instant::now();
        let mut progress = Progress::new(start);
        progress.totals().records = 2000;
        progress.totals().bytes = 400_000;
        for millis in (1..=100).rev() {
            progress.committed(Duration::from_millis(millis));
        }
        (progress, start + Duration::from_secs(2))
    }

    #[test]
    fn rates_and_percentiles_are_those_of_the_interval() {
        let (mut progress, now) = after_one_second();
        let first = progress.report("progress", now);
        assert_eq!(
            (first.records_per_s, first.bytes_per_s),
            (1000.0, 200_000.0)
        );
        assert_eq!(
            (first.commit_p50_ms, first.commit_p99_ms),
            (Some(50.0), Some(99.0))
        );
        let second = progress.report("progress", now + Duration::from_secs(1));
        assert_eq!((second.records, second.records_per_s), (2000, 0.0));
        assert_eq!((second.commit_p50_ms, second.batches), (None, 100));
    }

    #[test]
    fn the_last_report_is_about_the_whole_run() {
        let (mut progress, now) = after_one_second();
        progress.warn("nothing matched".to_owned());
        let report = progress.report("progress", now);
        assert!(report.warnings.is_empty());
        let last = progress.report(FINISHED, now + Duration::from_secs(6));
        assert_eq!((last.records_per_s, last.elapsed_s), (250.0, 8.0));
        assert_eq!(last.warnings, ["nothing matched"]);
        let line = describe(&last);
        let expected = "2000 records, 0.40 MB in 8.0 s  on average 250/s  0.05 MB/s  lag ?";
        assert!(line.starts_with(expected), "{line}");
    }

    #[test]
    fn a_lag_is_stale_where_the_source_is_silent_or_nobody_looked() {
        let (mut progress, now) = after_one_second();
        assert!(progress.report("progress", now).lag_stale);
        assert!(progress.judge_lag(true, now), "nothing is known yet");
        progress.set_lag((7, Duration::ZERO), now);
        assert!(!progress.judge_lag(true, now));
        assert!(progress.judge_lag(false, now));
        assert!(describe(&progress.report("progress", now)).contains("lag 7 or more"));
        assert!(progress.judge_lag(true, now + Duration::from_secs(6)));
        progress.set_lag((8, Duration::ZERO), now + Duration::from_secs(6));
        assert!(!progress.judge_lag(true, now + Duration::from_secs(6)));
        // Told again and again, and known of long ago: nobody looks any more.
        progress.set_lag((8, Duration::from_secs(6)), now + Duration::from_secs(7));
        assert!(progress.report("progress", now).lag_stale);
        assert!(progress.judge_lag(true, now + Duration::from_secs(7)));
    }

    #[test]
    fn one_commit_is_every_percentile() {
        assert_eq!(
            percentile_ms(&[Duration::from_micros(1234)], 50),
            Some(1.23)
        );
        assert_eq!(
            percentile_ms(&[Duration::from_micros(1234)], 99),
            Some(1.23)
        );
        assert_eq!(percentile_ms(&[], 99), None);
    }

    #[test]
    fn the_line_names_aborts_and_losses_only_where_there_are_any() {
        let (mut progress, now) = after_one_second();
        progress.set_lag((7, Duration::ZERO), now);
        let quiet = describe(&progress.report("progress", now));
        assert_eq!(
            quiet,
            "2000 records  1000/s  0.20 MB/s  lag 7  100 batches  commit p50 50.0 ms p99 99.0 ms"
        );
        progress.totals().lost = 3;
        let loud = describe(&progress.report("progress", now));
        assert!(
            loud.ends_with("3 lost") && !loud.contains("aborted"),
            "{loud}"
        );
    }
}
