//! Values of calls that no cluster would ever take: told at once, and without asking one.

use crate::error::{Error, ErrorKind};
use crate::kafka::record::OutgoingRecord;

/// The longest name of a topic that brokers take.
const TOPIC_BYTES_MAX: usize = 249;
/// The longest text of Kafka's protocol.
const NAME_BYTES_MAX: usize = i16::MAX.unsigned_abs() as usize;

/// What is wrong with a value, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) problem: String,
    pub(crate) remedy: &'static str,
}

impl Flaw {
    fn new(problem: String, remedy: &'static str) -> Self {
        Self { problem, remedy }
    }

    /// The error of the call that the value came in.
    pub(crate) fn error(&self, operation: &'static str) -> Error {
        Error::new(ErrorKind::Config, operation, &self.problem).with_remedy(self.remedy)
    }
}

/// A record whose topic or partition no cluster can have.
pub(crate) fn record(record: &OutgoingRecord) -> Result<(), Flaw> {
    topic(&record.topic)?;
    record.partition.map_or(Ok(()), partition)
}

/// A time before 1970: a mistake of an application. What copies records keeps the times it finds.
pub(crate) fn timestamp(record: &OutgoingRecord) -> Result<(), Flaw> {
    match record.timestamp_ms {
        Some(time) if time < 0 => Err(Flaw::new(
            format!("a timestamp must not be negative, and {time} is"),
            "give milliseconds since the Unix epoch, or no timestamp for now",
        )),
        _ => Ok(()),
    }
}

/// The name of a topic.
pub(crate) fn topic(name: &str) -> Result<(), Flaw> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let problem = match name {
        "" => "the name of a topic must not be empty".to_owned(),
        "." | ".." => format!("a topic cannot be named {name:?}"),
        _ if name.len() > TOPIC_BYTES_MAX => {
            let length = name.len();
            format!("the name of a topic has at most {TOPIC_BYTES_MAX} bytes, and not {length}")
        }
        _ if name.bytes().all(is_legal) => return Ok(()),
        _ => format!("{name:?} has characters that no topic's name can have"),
    };
    let remedy = "name a topic of the cluster: letters, digits, `.`, `_` and `-`";
    Err(Flaw::new(problem, remedy))
}

/// The name of a topic, or a pattern of such, which begins with `^`.
pub(crate) fn topic_or_pattern(text: &str) -> Result<(), Flaw> {
    match text.starts_with('^') {
        true => name("pattern of topics", text),
        false => topic(text),
    }
}

/// The number of a partition.
pub(crate) fn partition(number: i32) -> Result<(), Flaw> {
    match number {
        0.. => Ok(()),
        _ => Err(Flaw::new(
            format!("a partition must not be negative, and {number} is"),
            "number partitions from 0, or give none, which leaves the choice to the partitioner",
        )),
    }
}

/// An offset to read at.
pub(crate) fn offset(number: i64) -> Result<(), Flaw> {
    match number {
        0.. => Ok(()),
        _ => Err(Flaw::new(
            format!("an offset must not be negative, and {number} is"),
            "give the offset of the next record to read",
        )),
    }
}

/// A name that the application chooses, and the cluster keeps.
pub(crate) fn name(what: &str, text: &str) -> Result<(), Flaw> {
    let problem = match text {
        "" => format!("the {what} must not be empty"),
        _ if text.contains('\0') => format!("the {what} {text:?} has a NUL in it"),
        _ if text.len() > NAME_BYTES_MAX => {
            let length = text.len();
            format!("the {what} has at most {NAME_BYTES_MAX} bytes, and not {length}")
        }
        _ => return Ok(()),
    };
    Err(Flaw::new(problem, "give a name that a cluster can keep"))
}

/// The transactional.id of an own producer.
pub(crate) fn transactional_id(text: &str) -> Result<(), Flaw> {
    name("transactional.id", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(topic: &str, partition: Option<i32>) -> Result<(), Flaw> {
        record(&OutgoingRecord {
            partition,
            ..OutgoingRecord::to(topic)
        })
    }

    #[test]
    fn records_that_no_cluster_can_take_are_told_from_those_that_one_may() {
        let longest = "a".repeat(TOPIC_BYTES_MAX);
        for topic in ["orders", "a.b_c-D9", &longest] {
            for partition in [None, Some(0), Some(i32::MAX)] {
                assert_eq!(to(topic, partition), Ok(()), "{topic} {partition:?}");
            }
        }
        let too_long = "a".repeat(TOPIC_BYTES_MAX + 1);
        for topic in ["", ".", "..", "a\0b", "a b", "für", &too_long] {
            assert!(to(topic, None).is_err(), "{topic:?}");
        }
        for partition in [-1, -9, i32::MIN] {
            let flaw = to("orders", Some(partition)).expect_err("it is negative");
            assert!(flaw.problem.contains(&partition.to_string()), "{flaw:?}");
        }
    }

    #[test]
    fn a_time_before_1970_is_refused_and_none_is_now() {
        let at = |timestamp_ms| {
            timestamp(&OutgoingRecord {
                timestamp_ms,
                ..OutgoingRecord::to("orders")
            })
        };
        assert_eq!((at(None), at(Some(0))), (Ok(()), Ok(())));
        assert!(at(Some(-5)).expect_err("refused").problem.contains("-5"));
    }

    #[test]
    fn names_that_a_cluster_cannot_keep_are_refused() {
        let longest = "n".repeat(NAME_BYTES_MAX);
        for name in ["orders-writer", "ü", &longest] {
            assert_eq!(transactional_id(name), Ok(()));
        }
        for name in ["", "a\0", &format!("{longest}n")] {
            let error = transactional_id(name).expect_err("refused").error("enlist");
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.problem().contains("transactional.id"), "{error}");
            assert_eq!(error.remedy(), "give a name that a cluster can keep");
        }
        assert_eq!(topic_or_pattern("^or.*s$"), Ok(()));
        assert!(topic_or_pattern("or.*s$").is_err());
        assert!(topic_or_pattern("^a\0").is_err());
    }

    #[test]
    fn offsets_begin_at_zero() {
        assert_eq!((offset(0), offset(i64::MAX)), (Ok(()), Ok(())));
        // librdkafka would take these for the end, the beginning and what is committed.
        for logical in [-1, -2, -1000] {
            assert!(offset(logical).is_err(), "{logical}");
        }
    }
}
