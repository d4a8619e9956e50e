//! Records that are gone at the source before they were mirrored: found by pure functions.
//!
//! A gap between offsets proves nothing: compaction and transaction markers leave gaps too. What
//! proves a loss is the topic's id, kept beside each committed offset, and the log's start and end.

use std::fmt;

/// The identity of a topic: a topic that is deleted and made again under its name has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TopicId(pub(crate) u128);

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The first word of the metadata beside a committed offset, with its version.
const METADATA_PREFIX: &str = "gtc1 topic=";

/// The text that goes beside a committed offset.
pub(crate) fn to_metadata(id: TopicId) -> String {
    format!("{METADATA_PREFIX}{id}")
}

/// The topic id beside a committed offset; `None` where the offset is not of gtc's making.
pub(crate) fn from_metadata(text: &str) -> Option<TopicId> {
    let hex = text.strip_prefix(METADATA_PREFIX)?;
    (hex.len() == 32)
        .then(|| u128::from_str_radix(hex, 16).ok())
        .flatten()
        .map(TopicId)
}

/// The group's committed position in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    /// The offset of the next record to mirror.
    pub(crate) offset: i64,
    /// The id of the topic that it was committed for, where it is known.
    pub(crate) topic_id: Option<TopicId>,
}

/// What the source says of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceLog {
    /// The topic's id.
    pub(crate) topic_id: TopicId,
    /// The first offset that is still there.
    pub(crate) start: i64,
    /// The offset after the last record.
    pub(crate) end: i64,
}

/// How records got lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The topic was deleted and made again.
    Recreated,
    /// Retention or a deletion of records passed the position.
    Truncated,
    /// The log ends before the position: an unclean leader election, or a restored cluster.
    EndsBefore,
}

/// A loss in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    /// How.
    pub(crate) cause: Cause,
    /// The first lost offset.
    pub(crate) from: i64,
    /// The offset after the last lost one; `None` where nobody can know.
    pub(crate) to: Option<i64>,
    /// Where to go on under the policy `continue`.
    pub(crate) resume: i64,
}

impl Loss {
    /// At most how many records were lost; `None` where nobody can know.
    pub(crate) fn records(&self) -> Option<u64> {
        self.to.map(|to| to.abs_diff(self.from))
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from;
        match (self.cause, self.to) {
            (Cause::Truncated, Some(to)) => {
                write!(
                    f,
                    "offsets {from} to {} were deleted before they were mirrored",
                    to - 1
                )
            }
            (Cause::EndsBefore, Some(to)) => write!(
                f,
                "the log ends at {from}, but everything before {to} was mirrored: the source lost \
                 records that the destinations have"
            ),
            (Cause::Recreated, _) => write!(
                f,
                "the topic was deleted and made again: what it held from offset {from} on was not \
                 mirrored and is gone"
            ),
            (_, None) => write!(f, "records from offset {from} on are gone"),
        }
    }
}

/// Compares the position with the source; a first start, without a position, has nothing to lose.
pub(crate) fn find(committed: Option<Committed>, log: SourceLog) -> Option<Loss> {
    let committed = committed?;
    let offset = committed.offset;
    if committed.topic_id.is_some_and(|id| id != log.topic_id) {
        return Some(Loss {
            cause: Cause::Recreated,
            from: offset,
            to: None,
            resume: log.start,
        });
    }
    if offset < log.start {
        let (to, resume) = (Some(log.start), log.start);
        return Some(Loss {
            cause: Cause::Truncated,
            from: offset,
            to,
            resume,
        });
    }
    if offset > log.end {
        let (to, resume) = (Some(offset), log.end);
        return Some(Loss {
            cause: Cause::EndsBefore,
            from: log.end,
            to,
            resume,
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: TopicId = TopicId(0xa1);
    const NEW: TopicId = TopicId(0xb2);

    fn log(topic_id: TopicId, start: i64, end: i64) -> SourceLog {
        SourceLog {
            topic_id,
            start,
            end,
        }
    }

    fn at(offset: i64, topic_id: Option<TopicId>) -> Option<Committed> {
        Some(Committed { offset, topic_id })
    }

    #[test]
    fn each_way_to_lose_records() {
        let truncated = Loss {
            cause: Cause::Truncated,
            from: 4,
            to: Some(9),
            resume: 9,
        };
        let recreated = Loss {
            cause: Cause::Recreated,
            from: 4,
            to: None,
            resume: 0,
        };
        let ends_before = Loss {
            cause: Cause::EndsBefore,
            from: 3,
            to: Some(4),
            resume: 3,
        };
        for (committed, log, expected) in [
            (None, log(OLD, 7, 9), None),
            (at(4, Some(OLD)), log(OLD, 0, 9), None),
            (at(4, Some(OLD)), log(OLD, 4, 4), None),
            (at(4, None), log(NEW, 0, 9), None),
            (at(4, Some(OLD)), log(OLD, 9, 12), Some(truncated)),
            (at(4, None), log(OLD, 9, 12), Some(truncated)),
            (at(4, Some(OLD)), log(NEW, 0, 9), Some(recreated)),
            (at(4, Some(OLD)), log(NEW, 0, 0), Some(recreated)),
            (at(4, Some(OLD)), log(OLD, 0, 3), Some(ends_before)),
        ] {
            assert_eq!(find(committed, log), expected, "{committed:?} {log:?}");
        }
    }

    #[test]
    fn a_loss_says_what_is_gone_and_how_much() {
        let loss = find(at(4, Some(OLD)), log(OLD, 9, 12)).unwrap();
        assert_eq!(
            loss.to_string(),
            "offsets 4 to 8 were deleted before they were mirrored"
        );
        assert_eq!(loss.records(), Some(5));
        assert_eq!(
            find(at(4, Some(OLD)), log(NEW, 0, 9)).unwrap().records(),
            None
        );
    }

    #[test]
    fn metadata_round_trips_and_foreign_text_is_no_id() {
        assert_eq!(from_metadata(&to_metadata(NEW)), Some(NEW));
        for text in [
            "",
            "gtc1 topic=",
            "gtc1 topic=a1",
            "gtc2 topic=00",
            "backup of monday",
        ] {
            assert_eq!(from_metadata(text), None, "{text}");
        }
    }
}
