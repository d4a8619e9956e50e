//! What each type of the vocabulary takes of an object. A field without a member does not compile,
//! and a test asks for every word.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::str::FromStr;
use core::time::Duration;

use serde::de::{Deserialize, Deserializer};

use super::read::{Fault, FromMembers, FromPlain, Members, Plain, whole};
use super::{from_hex, log_id};
use crate::config::{Backoff, Config, GivesWay, Limits, ParticipantConfig};
use crate::evidence::{
    BrokerState, EndAnswer, Inquiry, ListedTransaction, Listing, PrepareReport, SlotCondition,
    TransactionDescription, WriteReport,
};
use crate::identity::{
    Incarnation, LogId, ParticipantId, ProducerIdentity, TransactionId, VersionClass,
};
use crate::request::{CommitReturn, Decision, Request};
use crate::response::{AppendFailure, ConnectReport, Response, SlotFailure};

/// What comes in whole.
macro_rules! deserialize {
    ($($type:ty)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                whole(from)
            }
        }
    )*};
}

deserialize! { Config Request Response }

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl FromPlain for $type {
            fn from_plain(value: Plain, fault: &mut Fault) -> Self {
                let number = match value {
                    Plain::Number(number) => Self::try_from(number).ok(),
                    _ => None,
                };
                number.unwrap_or_else(|| {
                    fault.note(&value, concat!("is no whole number, or none of ", stringify!($type)));
                    0
                })
            }
        }
    )*};
}

numbers! { i16 i32 i64 u16 u32 u64 usize }

impl FromPlain for bool {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        match value {
            Plain::Flag(flag) => flag,
            other => {
                fault.note(&other, "is neither true nor false");
                false
            }
        }
    }
}

impl FromPlain for String {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        match value {
            Plain::Text(text) => text,
            other => {
                fault.note(&other, "is no text");
                Self::new()
            }
        }
    }
}

impl FromPlain for Arc<str> {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        String::from_plain(value, fault).into()
    }
}

impl<T: FromPlain> FromPlain for Vec<T> {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        match value {
            Plain::List(list) => {
                let made = list.into_iter().map(|one| T::from_plain(one, fault));
                made.collect()
            }
            other => {
                fault.note(&other, "is no list");
                Self::new()
            }
        }
    }
}

impl<T: FromPlain> FromPlain for Option<T> {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        match value {
            Plain::Missing | Plain::Nothing => None,
            value => Some(T::from_plain(value, fault)),
        }
    }
}

/// In whole microseconds.
impl FromPlain for Duration {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        Self::from_micros(u64::from_plain(value, fault))
    }
}

impl FromPlain for ParticipantId {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        Self(u16::from_plain(value, fault))
    }
}

/// What is read from a text, and what it is called; nothing is made of one that does not fit.
fn parsed<T>(value: Plain, fault: &mut Fault, (read, form): Form<T>) -> Option<T> {
    let found = match &value {
        Plain::Text(text) => read(text),
        _ => None,
    };
    if found.is_none() {
        fault.note(&value, form);
    }
    found
}

type Form<T> = (fn(&str) -> Option<T>, &'static str);

/// Bytes as hexadecimal digits.
struct Hex(Vec<u8>);

impl FromPlain for Hex {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        let form: Form<Vec<u8>> = (from_hex, "is no hexadecimal digits");
        Self(parsed(value, fault, form).unwrap_or_default())
    }
}

/// A number that may be above 2^53, as text.
struct Decimal(i64);

impl FromPlain for Decimal {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        let form: Form<i64> = (|text| text.parse().ok(), "is no number as text");
        Self(parsed(value, fault, form).unwrap_or_default())
    }
}

impl FromPlain for TransactionId {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        let form: Form<Self> = (
            |text| Self::from_str(text).ok(),
            "is no transaction id, which has the form INCARNATION-SEQUENCE",
        );
        parsed(value, fault, form).unwrap_or(Self {
            incarnation: Incarnation(0),
            sequence: 0,
        })
    }
}

impl FromPlain for LogId {
    fn from_plain(value: Plain, fault: &mut Fault) -> Self {
        let form: Form<Self> = (log_id, "is no log id, which has 16 hexadecimal digits");
        parsed(value, fault, form).unwrap_or(Self(0))
    }
}

/// Enums of which a word is all. What is made of an unknown one is thrown away.
macro_rules! words {
    ($($type:ident is a $what:literal {
        $first_word:literal = $first:ident, $($word:literal = $variant:ident,)*
    })*) => {$(
        impl FromPlain for $type {
            fn from_plain(value: Plain, fault: &mut Fault) -> Self {
                match String::from_plain(value, fault).as_str() {
                    $first_word => Self::$first,
                    $($word => Self::$variant,)*
                    word => {
                        fault.note_word($what, word);
                        Self::$first
                    }
                }
            }
        }
    )*};
}

words! {
    BrokerState is a "state" {
        "empty" = Empty,
        "ongoing" = Ongoing,
        "prepare-commit" = PrepareCommit,
        "prepare-abort" = PrepareAbort,
        "complete-commit" = CompleteCommit,
        "complete-abort" = CompleteAbort,
        "dead" = Dead,
        "prepare-epoch-fence" = PrepareEpochFence,
    }
    CommitReturn is a "report" { "acknowledged" = Acknowledged, "decided" = Decided, }
    Decision is a "decision" { "commit" = Commit, "abort" = Abort, }
    GivesWay is a "gives_way" {
        "nothing" = Nothing,
        "timeout" = Timeout,
        "timeout-and-margin" = TimeoutAndMargin,
    }
    VersionClass is a "version_class" { "v1" = V1, "v2" = V2, }
}

impl FromMembers for Request {
    fn from_members(of: &mut Members) -> Self {
        let word: String = of.take("request");
        match word.as_str() {
            "begin" => Self::Begin {
                key: of.take::<Option<Hex>>("key_hex").map(|Hex(bytes)| bytes),
                timeout: of.take("timeout_us"),
            },
            "enlist" => Self::Enlist {
                transaction: of.take("transaction"),
                participant: of.take("participant"),
            },
            "enlist-own" => Self::EnlistOwn {
                transaction: of.take("transaction"),
                participant: of.take("participant"),
                transactional_id: of.take("transactional_id"),
                version_class: of.take("version_class"),
                producer: of.take("producer"),
            },
            "enlist-own-newest" => Self::EnlistOwnNewest {
                transaction: of.take("transaction"),
                participant: of.take("participant"),
                transactional_id: of.take("transactional_id"),
                producer: of.take("producer"),
            },
            "commit" => Self::Commit {
                transaction: of.take("transaction"),
                report: of.take_or("report", CommitReturn::default()),
            },
            "abort" => Self::Abort {
                transaction: of.take("transaction"),
                reason: of.take("reason"),
            },
            "settle" => Self::Settle {
                participant: of.take("participant"),
                transactional_id: of.take("transactional_id"),
            },
            "close" => Self::Close,
            word => of_operators(word, of),
        }
    }
}

/// What operators and the driver ask for.
fn of_operators(word: &str, of: &mut Members) -> Request {
    match word {
        "resolve" => Request::Resolve {
            transaction: of.take("transaction"),
            decision: of.take("decision"),
        },
        "resolve-foreign" => Request::ResolveForeign {
            participant: of.take("participant"),
            transactional_id: of.take("transactional_id"),
            decision: of.take("decision"),
        },
        "forget" => Request::Forget {
            transaction: of.take("transaction"),
        },
        "unreachable" => Request::Unreachable {
            participant: of.take("participant"),
            why: of.take("why"),
        },
        "broken" => Request::Broken {
            participant: of.take("participant"),
            why: of.take("why"),
        },
        word => {
            of.fault.note_word("request", word);
            Request::Close
        }
    }
}

impl FromMembers for Response {
    fn from_members(of: &mut Members) -> Self {
        let word: String = of.take("response");
        match word.as_str() {
            "appended" => Self::Appended,
            "append-failed" => Self::AppendFailed(AppendFailure::from_members(of)),
            "connected" => Self::Connected(ConnectReport {
                cluster_id: of.take("cluster_id"),
                transaction_version: of.take("transaction_version"),
                timeout_ceiling_ms: of.take("timeout_ceiling_ms"),
            }),
            "connect-failed" => Self::ConnectFailed(of.take("detail")),
            "slot-opened" => Self::SlotOpened {
                producer: of.take("producer"),
                condition: of.take("condition"),
            },
            "slot-failed" => Self::SlotFailed(SlotFailure {
                timeout_above_ceiling: of.take("timeout_above_ceiling"),
                detail: of.take("detail"),
            }),
            "slot-verified" => Self::SlotVerified(SlotCondition::from_members(of)),
            "slot-closed" => Self::SlotClosed,
            "prepared" => Self::Prepared(PrepareReport {
                writes: of.take("writes"),
                writer: of.take("writer"),
                inquiry: of.take("inquiry"),
                strayed: of.take("strayed"),
            }),
            "ended" => Self::Ended(EndAnswer::from_members(of)),
            "inquired" => Self::Inquired(Inquiry::from_members(of)),
            "listed" => Self::Listed(Listing {
                transactions: of.take("transactions"),
                complete: of.take("complete"),
                detail: of.take("detail"),
            }),
            word => {
                of.fault.note_word("response", word);
                Self::Appended
            }
        }
    }
}

impl FromMembers for AppendFailure {
    fn from_members(of: &mut Members) -> Self {
        let (word, detail): (String, String) = (of.take("failure"), of.take("detail"));
        match word.as_str() {
            "refused" => Self::Refused(detail),
            "unknown" => Self::Unknown(detail),
            "fenced" => Self::Fenced(detail),
            word => {
                of.fault.note_word("failure", word);
                Self::Unknown(detail)
            }
        }
    }
}

impl FromMembers for SlotCondition {
    fn from_members(of: &mut Members) -> Self {
        let word: String = of.take("condition");
        match word.as_str() {
            "clean" => Self::Clean,
            "unproven" => Self::Unproven(of.take("detail")),
            word => {
                of.fault.note_word("condition", word);
                Self::Clean
            }
        }
    }
}

impl FromMembers for EndAnswer {
    fn from_members(of: &mut Members) -> Self {
        let word: String = of.take("answer");
        match word.as_str() {
            "acknowledged" => Self::Acknowledged,
            "code" => Self::Code(of.take("code")),
            "no-answer" => Self::NoAnswer(of.take("detail")),
            "not-sent" => Self::NotSent(of.take("detail")),
            word => {
                of.fault.note_word("answer", word);
                Self::Acknowledged
            }
        }
    }
}

impl FromMembers for Inquiry {
    fn from_members(of: &mut Members) -> Self {
        let word: String = of.take("inquiry");
        match word.as_str() {
            "described" => Self::Described(TransactionDescription {
                state: of.take("state"),
                producer: of.take("producer"),
                start_time_ms: of.take("start_time_ms"),
                timeout_ms: of.take("timeout_ms"),
            }),
            "not-found" => Self::NotFound,
            "refused" => Self::Refused(of.take("code")),
            "no-answer" => Self::NoAnswer(of.take("detail")),
            word => {
                of.fault.note_word("inquiry", word);
                Self::NotFound
            }
        }
    }
}

impl FromMembers for ProducerIdentity {
    fn from_members(of: &mut Members) -> Self {
        let Decimal(producer_id) = of.take("producer_id");
        Self {
            producer_id,
            epoch: of.take("epoch"),
        }
    }
}

impl FromMembers for ListedTransaction {
    fn from_members(of: &mut Members) -> Self {
        let Decimal(producer_id) = of.take("producer_id");
        Self {
            transactional_id: of.take("transactional_id"),
            producer_id,
            state: of.take("state"),
        }
    }
}

impl FromMembers for WriteReport {
    fn from_members(of: &mut Members) -> Self {
        Self {
            sent: of.take_or("sent", 0),
            delivered: of.take_or("delivered", 0),
            failed: of.take_or("failed", 0),
            offsets_sent: of.take_or("offsets_sent", 0),
            offsets_failed: of.take_or("offsets_failed", 0),
            stated_delivered: of.take_or("stated_delivered", false),
            fenced: of.take_or("fenced", false),
            detail: of.take("detail"),
        }
    }
}

impl FromMembers for Config {
    fn from_members(of: &mut Members) -> Self {
        Self {
            coordinator: of.take("coordinator"),
            log_id: of.take("log_id"),
            participants: of.take("participants"),
            limits: of.take_or("limits", Limits::default()),
            backoff: of.take_or("backoff", Backoff::default()),
            seed: of.take_or("seed", 0),
        }
    }
}

impl FromMembers for ParticipantConfig {
    fn from_members(of: &mut Members) -> Self {
        Self {
            name: of.take("name"),
            slots_max: of.take("slots_max"),
            timeout_ms: of.take("timeout_ms"),
            margin: of.take("margin_us"),
            gives_way: of.take_or("gives_way", GivesWay::default()),
            names_max: of.take("names_max"),
        }
    }
}

impl FromMembers for Limits {
    fn from_members(of: &mut Members) -> Self {
        let unless = Self::default();
        Self {
            transactions_max: of.take_or("transactions_max", unless.transactions_max),
            branches_max: of.take_or("branches_max", unless.branches_max),
            key_bytes_max: of.take_or("key_bytes_max", unless.key_bytes_max),
            outcomes_max: of.take_or("outcomes_max", unless.outcomes_max),
            discarded_max: of.take_or("discarded_max", unless.discarded_max),
            enlist_timeout: of.take_or("enlist_timeout_us", unless.enlist_timeout),
            report_timeout: of.take_or("report_timeout_us", unless.report_timeout),
            slot_idle: of.take_or("slot_idle_us", unless.slot_idle),
            sweep_interval: of.take_or("sweep_interval_us", unless.sweep_interval),
            names_per_record: of.take_or("names_per_record", unless.names_per_record),
            checkpoint_bytes: of.take_or("checkpoint_bytes", unless.checkpoint_bytes),
        }
    }
}

impl FromMembers for Backoff {
    fn from_members(of: &mut Members) -> Self {
        let unless = Self::default();
        Self {
            initial: of.take_or("initial_us", unless.initial),
            max: of.take_or("max_us", unless.max),
        }
    }
}
