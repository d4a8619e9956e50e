//! Votes: what a branch's writer counted and what its broker says, weighed by the core.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use crate::broken::{Broken, Rules};
use crate::evidence::{BrokerState, Inquiry, PrepareReport, TransactionDescription, WriteReport};
use crate::identity::{BranchIdentity, ProducerIdentity, VersionClass};

/// The vote of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    /// Everything is delivered and the broker holds it open under the writer's own identity.
    Yes(BranchIdentity),
    /// Nothing was written: no second phase.
    ReadOnly,
    /// It cannot commit.
    No(Objection),
}

/// Why a branch voted no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Objection {
    /// For people.
    pub(crate) detail: String,
    /// A stranger took the writer's transactional.id over (R7).
    pub(crate) stranger: bool,
}

impl Vote {
    pub(crate) fn no(detail: impl Into<String>) -> Self {
        Self::No(Objection {
            detail: detail.into(),
            stranger: false,
        })
    }
}

/// The vote of a branch that a managed producer wrote.
pub(crate) fn managed(
    report: &PrepareReport,
    name: &Arc<str>,
    expected: ProducerIdentity,
    rules: Rules,
) -> Vote {
    let open = matches!(described(report), Ok(found) if found.state == BrokerState::Ongoing);
    if !open && rules.lack(Broken::VoteReadOnly) {
        return Vote::ReadOnly;
    }
    if let Some(objection) = taken_over(report, expected)
        && !rules.lack(Broken::VoteOngoing)
    {
        return Vote::No(objection);
    }
    if let Some(why) = undelivered(&report.writes, rules) {
        return Vote::no(why);
    }
    if report.writes.sent == 0 && report.writes.offsets_sent == 0 {
        return Vote::ReadOnly;
    }
    if report.writer.is_some_and(|writer| writer != expected) && !rules.lack(Broken::VoteIdentity) {
        return Vote::no("the producer reports another identity than it was initialised with");
    }
    match described(report) {
        Ok(found) => ongoing((found, name), expected, VersionClass::V1, rules),
        Err(why) => Vote::no(why),
    }
}

/// The vote of an application's own producer of this class, found at enlisting in the state `baseline`.
pub(crate) fn own(
    report: &PrepareReport,
    name: &Arc<str>,
    (baseline, class): (&TransactionDescription, VersionClass),
    rules: Rules,
) -> Vote {
    let writes = &report.writes;
    if let Some(why) = undelivered(writes, rules) {
        return Vote::no(why);
    }
    let unwritten = writes.sent == 0 && writes.offsets_sent == 0;
    if !writes.stated_delivered && unwritten && !rules.lack(Broken::VoteStated) {
        return Vote::no(
            "the application did not say that everything it wrote was delivered: count its \
             deliveries, or state delivered before commit",
        );
    }
    let other = report.writer.filter(|writer| *writer != baseline.producer);
    if other.is_some() && !rules.lack(Broken::VoteIdentity) {
        return Vote::no("the producer reports another identity than its transactional.id had");
    }
    match described(report) {
        Ok(found) if found == baseline && unwritten => Vote::ReadOnly,
        Ok(_) if unwritten && rules.lack(Broken::VoteOwnReadOnly) => Vote::ReadOnly,
        Ok(found) => match ongoing((found, name), baseline.producer, class, rules) {
            Vote::Yes(identity) => held(report, identity),
            other => other,
        },
        Err(why) => Vote::no(why),
    }
}

/// Whether what the broker holds open under this identity is what the producer wrote.
fn held(report: &PrepareReport, identity: BranchIdentity) -> Vote {
    match &report.strayed {
        None => Vote::Yes(identity),
        Some(partition) => Vote::no(format!(
            "records were delivered to {partition}, which the transaction of {} does not show: another \
             producer wrote them, so enlist each under its own transactional.id; or its topic is hidden \
             from gtc's principal, so grant it Describe on that",
            identity.transactional_id
        )),
    }
}

fn undelivered(writes: &WriteReport, rules: Rules) -> Option<String> {
    if writes.fenced {
        return Some(why_or(writes, "the producer is fenced"));
    }
    if rules.lack(Broken::VoteDeliveries) {
        return None;
    }
    if writes.failed > 0 {
        let count = writes.failed;
        return Some(why_or(writes, &format!("{count} deliveries failed")));
    }
    if writes.offsets_failed > 0 && !rules.lack(Broken::VoteOffsets) {
        return Some(why_or(writes, "sending offsets failed"));
    }
    (writes.delivered != writes.sent)
        .then(|| format!("{} of {} records delivered", writes.delivered, writes.sent))
}

fn why_or(writes: &WriteReport, otherwise: &str) -> String {
    match &writes.detail {
        Some(detail) => format!("{otherwise}: {detail}"),
        None => otherwise.to_string(),
    }
}

/// What its broker said of a branch, or why that is not known.
pub(crate) fn described(report: &PrepareReport) -> Result<&TransactionDescription, String> {
    match &report.inquiry {
        Some(Inquiry::Described(found)) => Ok(found),
        Some(Inquiry::NotFound) => Err("the broker does not know its transactional.id".to_string()),
        Some(Inquiry::Refused(code)) => Err(format!("DescribeTransactions answered {code}")),
        Some(Inquiry::NoAnswer(why)) => Err(format!("its state could not be asked: {why}")),
        None => Err("its state was not asked".to_string()),
    }
}

fn ongoing(
    (found, name): (&TransactionDescription, &Arc<str>),
    expected: ProducerIdentity,
    class: VersionClass,
    rules: Rules,
) -> Vote {
    let open = found.state == BrokerState::Ongoing && found.start_time_ms >= 0;
    if !open && !rules.lack(Broken::VoteOngoing) {
        return Vote::no(format!(
            "the broker says {:?} instead of Ongoing",
            found.state
        ));
    }
    let other = found.producer != expected && !rules.lack(Broken::VoteOngoing);
    if other && !rules.lack(Broken::VoteIdentity) {
        return Vote::no(format!(
            "the broker has producer {}/{} open, not the writer's {}/{}",
            found.producer.producer_id, found.producer.epoch, expected.producer_id, expected.epoch
        ));
    }
    Vote::Yes(BranchIdentity {
        transactional_id: name.clone(),
        producer: found.producer,
        start_time_ms: found.start_time_ms,
        timeout_ms: found.timeout_ms,
        version_class: if rules.lack(Broken::ClassMixed) {
            VersionClass::V1
        } else {
            class
        },
    })
}

/// Tells a stranger's fence from the broker's own, which ends an expired or forcibly ended transaction.
fn taken_over(report: &PrepareReport, expected: ProducerIdentity) -> Option<Objection> {
    let expired = |found: &TransactionDescription| {
        found.producer.producer_id == expected.producer_id
            && found.producer.epoch != expected.epoch
            && matches!(
                found.state,
                BrokerState::CompleteAbort
                    | BrokerState::PrepareAbort
                    | BrokerState::PrepareEpochFence
            )
    };
    match &report.inquiry {
        Some(Inquiry::Described(found)) if expired(found) => Some(Objection {
            detail: "the broker had aborted it: its time-out passed, or it was ended by force"
                .to_string(),
            stranger: false,
        }),
        Some(Inquiry::Described(found)) if found.producer != expected => Some(Objection {
            detail: format!(
                "another process initialised its transactional.id: producer {}/{} holds it now",
                found.producer.producer_id, found.producer.epoch
            ),
            stranger: true,
        }),
        Some(Inquiry::Described(_)) => None,
        _ if report.writes.fenced => Some(Objection {
            detail: why_or(&report.writes, "the producer is fenced"),
            stranger: true,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
