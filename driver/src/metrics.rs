//! The metrics of gtc, behind the `metrics` facade: install any recorder before opening.

/// Whether a metric counts, measures a distribution, or shows a present value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// A distribution, of seconds.
    Histogram,
    /// A present value.
    Gauge,
}

macro_rules! metrics {
    ($($constant:ident = $name:literal, $kind:ident, $labels:expr, $doc:literal;)*) => {
        $(pub(crate) const $constant: &str = $name;)*

        /// Every metric: its name, kind, labels and meaning.
        pub const TABLE: &[(&str, MetricKind, &[&str], &str)] =
            &[$(($name, MetricKind::$kind, $labels, $doc),)*];
    };
}

metrics! {
    BEGUN = "gtc_begun_total", Counter, &[],
        "Transactions begun.";
    COMMITTED = "gtc_committed_total", Counter, &[],
        "Transactions of which every branch committed.";
    ABORTED = "gtc_aborted_total", Counter, &["reason"],
        "Transactions aborted, by reason.";
    IN_DOUBT = "gtc_in_doubt_total", Counter, &[],
        "Callers that were told in doubt.";
    HEURISTIC = "gtc_heuristic_total", Counter, &["participant"],
        "Branches that ended otherwise than decided.";
    RETRIES = "gtc_end_retries_total", Counter, &["participant"],
        "Attempts to end a branch that were not acknowledged.";
    SLOT_WAITS = "gtc_slot_waits_total", Counter, &["participant"],
        "Enlistments that had to wait for a slot.";
    SLOTS_RETIRED = "gtc_slots_retired_total", Counter, &["participant"],
        "Slots whose producer was thrown away.";
    LATE_RESPONSES = "gtc_late_responses", Gauge, &[],
        "Responses that came late, twice or for nothing, and were ignored.";
    PARTICIPANT_UP = "gtc_participant_up", Gauge, &["participant"],
        "1 while the participant takes branches, else 0.";
    COMMIT_SECONDS = "gtc_commit_seconds", Histogram, &[],
        "From the call of commit to the last acknowledgement.";
    PREPARE_SECONDS = "gtc_prepare_seconds", Histogram, &["participant"],
        "One branch's preparation.";
    LOG_APPEND_SECONDS = "gtc_log_append_seconds", Histogram, &["durability"],
        "From the submission of records to their durability.";
    SLOT_WAIT_SECONDS = "gtc_slot_wait_seconds", Histogram, &["participant"],
        "From asking for a slot to having it.";
}

/// Tells the installed recorder what each metric means.
pub(crate) fn describe() {
    for (name, kind, _, doc) in TABLE {
        match kind {
            MetricKind::Counter => metrics::describe_counter!(*name, *doc),
            MetricKind::Histogram => {
                metrics::describe_histogram!(*name, metrics::Unit::Seconds, *doc);
            }
            MetricKind::Gauge => metrics::describe_gauge!(*name, *doc),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_metric() {
        let page = include_str!("../../docs/metrics.md");
        for (name, kind, labels, doc) in TABLE {
            let kind = format!("{kind:?}").to_lowercase();
            let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
            let row = format!("| `{name}` | {kind} | {} | {doc} |", labels.join(", "));
            assert!(page.contains(&row), "docs/metrics.md lacks: {row}");
        }
    }
}
