//! What a check finds, and how it judges what a cluster told: pure functions.

use std::time::Duration;

use serde::Serialize;

/// How good a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The precondition is met.
    Ok,
    /// The guarantee holds, with a drawback.
    Warn,
    /// The guarantee does not hold, or gtc cannot work.
    Fail,
}

impl Level {
    /// The name in every language.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One precondition on one participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The participant.
    pub participant: String,
    /// The precondition.
    pub check: &'static str,
    /// How good it is.
    pub level: Level,
    /// What was seen.
    pub detail: String,
    /// What to do about it, where something is to be done.
    pub remedy: Option<String>,
}

/// What was seen and how good it is, before the participant is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// How good it is.
    pub(crate) level: Level,
    /// What was seen.
    pub(crate) detail: String,
    /// What to do about it.
    pub(crate) remedy: Option<String>,
}

impl Judgement {
    /// All is well.
    pub(crate) fn ok(detail: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            detail: detail.into(),
            remedy: None,
        }
    }

    /// It works with a drawback.
    pub(crate) fn warn(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            level: Level::Warn,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// It does not work.
    pub(crate) fn fail(detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            level: Level::Fail,
            detail: detail.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// Names participant and precondition.
    pub(crate) fn of(self, participant: &str, check: &'static str) -> Finding {
        let Self {
            level,
            detail,
            remedy,
        } = self;
        Finding {
            participant: participant.to_owned(),
            check,
            level,
            detail,
            remedy,
        }
    }
}

/// Below this a coordinator that is down for long finds its transactions expired.
const COMFORTABLE_TIMEOUT_MS: i64 = 3_600_000;
/// A transaction with this time-out never expires on brokers since 4.1.
const NEVER_MS: i64 = i32::MAX as i64;

/// The transaction time-out that gtc would use, against the cluster's ceiling.
pub(crate) fn judge_timeout(timeout_ms: i64, ceiling_ms: Option<i64>) -> Judgement {
    let setting = "transaction.max.timeout.ms";
    let Some(ceiling_ms) = ceiling_ms else {
        return Judgement::warn(
            format!(
                "{} is used, but the cluster does not show its {setting}",
                span(timeout_ms)
            ),
            "allow DescribeConfigs on the cluster, so that the ceiling can be checked",
        );
    };
    if timeout_ms > ceiling_ms {
        return Judgement::fail(
            format!("transaction_timeout_ms is {timeout_ms}, and {setting} is {ceiling_ms}"),
            format!("raise {setting} on the brokers, or lower transaction_timeout_ms"),
        );
    }
    let held = format!(
        "{}: for as long a coordinator may be down without a loss of agreement, and for as long a \
         dead one can hold back read_committed readers",
        span(timeout_ms)
    );
    if timeout_ms < COMFORTABLE_TIMEOUT_MS {
        let remedy = format!("raise {setting} (now {ceiling_ms}) to at least an hour");
        return Judgement::warn(held, remedy);
    }
    Judgement::ok(held)
}

/// The finalised feature `transaction.version`.
pub(crate) fn judge_transaction_version(version: i16) -> Judgement {
    match version {
        2.. => Judgement::ok(format!("{version}")),
        _ => Judgement::warn(
            format!("{version}: the brokers do not move the epoch with every transaction"),
            "finalise transaction.version 2 (`kafka-features.sh upgrade --feature \
             transaction.version=2`), once all brokers and clients allow it",
        ),
    }
}

/// Whether acknowledged records can be lost with a leader.
pub(crate) fn judge_unclean_election(setting: Option<&str>) -> Judgement {
    match setting {
        Some("false") => Judgement::ok("unclean.leader.election.enable is false"),
        Some(value) => Judgement::fail(
            format!("unclean.leader.election.enable is {value}"),
            "set it to false: an unclean leader forgets acknowledged records and transactions",
        ),
        None => not_shown("unclean.leader.election.enable"),
    }
}

/// How well the brokers keep their own transaction state.
pub(crate) fn judge_state_log(replication: Option<i64>, min_isr: Option<i64>) -> Judgement {
    let (Some(replication), Some(min_isr)) = (replication, min_isr) else {
        return not_shown("transaction.state.log.replication.factor or its min.isr");
    };
    let detail = format!("replication factor {replication}, min.isr {min_isr}");
    if min_isr > replication {
        return Judgement::fail(
            format!("{detail}: nothing can ever be committed"),
            "raise transaction.state.log.replication.factor above its min.isr",
        );
    }
    if min_isr < 2 {
        return Judgement::warn(
            format!("{detail}: one broker's disk holds the only sure copy of a decided branch"),
            "use transaction.state.log.replication.factor 3 and min.isr 2 where it matters",
        );
    }
    if min_isr == replication {
        return Judgement::warn(
            format!("{detail}: every broker that stops holds up all transactions"),
            "use a replication factor above min.isr",
        );
    }
    Judgement::ok(detail)
}

/// Whether topics that do not say otherwise outlive a broker.
pub(crate) fn judge_min_insync(replication: Option<i64>, min_insync: Option<i64>) -> Judgement {
    let (Some(replication), Some(min_insync)) = (replication, min_insync) else {
        return not_shown("default.replication.factor or min.insync.replicas");
    };
    let detail =
        format!("default.replication.factor {replication}, min.insync.replicas {min_insync}");
    if min_insync < 2 {
        return Judgement::warn(
            format!("{detail}: an acknowledged record may exist once"),
            "use 3 and 2 where records matter",
        );
    }
    Judgement::ok(detail)
}

fn not_shown(setting: &str) -> Judgement {
    Judgement::warn(
        format!("the cluster does not show {setting}"),
        "allow DescribeConfigs on the cluster, so that it can be checked",
    )
}

/// The worst level of all findings.
#[must_use]
pub fn worst(findings: &[Finding]) -> Level {
    findings
        .iter()
        .map(|finding| finding.level)
        .max()
        .unwrap_or(Level::Ok)
}

/// A time-out for people.
fn span(millis: i64) -> String {
    if millis >= NEVER_MS {
        return "for ever".to_owned();
    }
    // A negative time-out cannot be configured.
    let duration = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn time_outs_against_the_ceiling() {
        for (timeout, ceiling, level) in [
            (HOUR, Some(HOUR), Level::Ok),
            (24 * HOUR, Some(NEVER_MS), Level::Ok),
            (900_000, Some(900_000), Level::Warn),
            (900_001, Some(900_000), Level::Fail),
            (HOUR, None, Level::Warn),
        ] {
            assert_eq!(
                judge_timeout(timeout, ceiling).level,
                level,
                "{timeout} {ceiling:?}"
            );
        }
    }

    #[test]
    fn timeout_above_ceiling_names_both_values_and_the_setting_to_raise() {
        let judgement = judge_timeout(HOUR, Some(900_000));
        let text = format!("{} {}", judgement.detail, judgement.remedy.unwrap());
        for part in ["3600000", "900000", "transaction.max.timeout.ms"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_time_out_tells_how_long_readers_can_be_held_back() {
        assert!(
            judge_timeout(24 * HOUR, Some(NEVER_MS))
                .detail
                .starts_with("1day:")
        );
        assert!(
            judge_timeout(NEVER_MS, Some(NEVER_MS))
                .detail
                .starts_with("for ever:")
        );
    }

    #[test]
    fn settings_of_the_brokers() {
        for (judgement, level) in [
            (judge_transaction_version(2), Level::Ok),
            (judge_transaction_version(1), Level::Warn),
            (judge_unclean_election(Some("false")), Level::Ok),
            (judge_unclean_election(Some("true")), Level::Fail),
            (judge_unclean_election(None), Level::Warn),
            (judge_state_log(Some(3), Some(2)), Level::Ok),
            (judge_state_log(Some(1), Some(1)), Level::Warn),
            (judge_state_log(Some(2), Some(2)), Level::Warn),
            (judge_state_log(Some(1), Some(2)), Level::Fail),
            (judge_state_log(None, Some(2)), Level::Warn),
            (judge_min_insync(Some(3), Some(2)), Level::Ok),
            (judge_min_insync(Some(3), Some(1)), Level::Warn),
        ] {
            assert_eq!(judgement.level, level, "{judgement:?}");
            assert_eq!(
                judgement.remedy.is_some(),
                level != Level::Ok,
                "{judgement:?}"
            );
        }
    }

    #[test]
    fn one_failure_makes_the_whole_check_fail() {
        let of = |judgement: Judgement| judgement.of("eu", "x");
        let findings = [
            of(Judgement::ok("")),
            of(Judgement::fail("", "")),
            of(Judgement::warn("", "")),
        ];
        assert_eq!(worst(&findings), Level::Fail);
        assert_eq!(worst(&[]), Level::Ok);
    }
}
