//! The metrics of a replication, beside those of the library.

use gtc::metrics::MetricKind::{self, Counter, Gauge, Histogram};

macro_rules! metrics {
    ($($constant:ident = $name:literal, $kind:ident, $doc:literal;)*) => {
        $(pub(super) const $constant: &str = $name;)*

        /// Every metric: its name, kind and meaning.
        pub(super) const TABLE: &[(&str, MetricKind, &str)] = &[$(($name, $kind, $doc),)*];
    };
}

metrics! {
    RECORDS = "gtc_replicate_records_total", Counter,
        "Records read from the source and committed.";
    BYTES = "gtc_replicate_bytes_total", Counter,
        "Bytes of their keys and values.";
    FILTERED = "gtc_replicate_filtered_total", Counter,
        "Sends left out, as the record came from there.";
    BATCHES = "gtc_replicate_batches_total", Counter,
        "Committed batches.";
    ABORTED = "gtc_replicate_aborted_total", Counter,
        "Batches that aborted and were read again.";
    LOST = "gtc_replicate_lost_total", Counter,
        "Records lost at the source, as far as they can be counted.";
    LOSSES = "gtc_replicate_losses_total", Counter,
        "Losses at the source that were gone over.";
    LAG = "gtc_replicate_lag", Gauge,
        "Offsets that are not mirrored yet.";
    LAG_STALE = "gtc_replicate_lag_stale", Gauge,
        "1 while the ends of the source are not known, so that the lag may be greater, else 0.";
    BATCH_AGE = "gtc_replicate_batch_age_seconds", Gauge,
        "How long the batch in hand has been under way; 0 where none is.";
    COMMIT_SECONDS = "gtc_replicate_commit_seconds", Histogram,
        "Time of a global commit.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_metric_and_no_other() {
        let page = include_str!("../../../docs/metrics.md");
        for (name, kind, doc) in TABLE {
            let kind = format!("{kind:?}").to_lowercase();
            let row = format!("| `{name}` | {kind} |  | {doc} |");
            assert!(page.contains(&row), "docs/metrics.md lacks: {row}");
        }
        let documented = page.lines().filter_map(|line| line.strip_prefix("| `gtc_"));
        let documented: Vec<String> = documented
            .filter_map(|rest| Some(format!("gtc_{}", rest.split_once('`')?.0)))
            .collect();
        let of_library = gtc::metrics::TABLE.iter().map(|(name, ..)| *name);
        let known: Vec<&str> = of_library
            .chain(TABLE.iter().map(|(name, ..)| *name))
            .collect();
        for name in &documented {
            assert!(
                known.contains(&name.as_str()),
                "{name} is documented and unknown"
            );
        }
        assert_eq!(documented.len(), known.len());
    }
}
