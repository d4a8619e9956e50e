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
    /// The first lost offset; `None` where nobody can know.
    pub(crate) from: Option<i64>,
    /// The offset after the last lost one; of a topic that was made again the last end that was seen.
    /// `None` where nobody can know.
    pub(crate) to: Option<i64>,
    /// Where to go on under the policy `continue`.
    pub(crate) resume: i64,
}

impl Loss {
    /// At most how many records were lost; `None` where nobody can know.
    pub(crate) fn records(&self) -> Option<u64> {
        // Of a topic that was made again only the last known end is known.
        let to = self.to.filter(|_| self.cause != Cause::Recreated)?;
        Some(to.abs_diff(self.from?))
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cause, self.from, self.to) {
            (Cause::Recreated, from, end) => describe_recreated(f, from, end),
            (Cause::Truncated, Some(from), Some(to)) => write!(
                f,
                "offsets {from} to {} were deleted before they were mirrored",
                to - 1
            ),
            (Cause::EndsBefore, Some(from), Some(to)) => write!(
                f,
                "the log ends at {from}, but everything before {to} was mirrored: the source lost \
                 records that the destinations have"
            ),
            (_, Some(from), None) => write!(f, "records from offset {from} on are gone"),
            (_, None, _) => f.write_str("records are gone"),
        }
    }
}

/// What became of the old topic's records, as far as somebody saw its end.
fn describe_recreated(
    f: &mut fmt::Formatter<'_>,
    from: Option<i64>,
    end: Option<i64>,
) -> fmt::Result {
    f.write_str("the topic was deleted and made again; ")?;
    match (from, end) {
        (Some(from), Some(end)) if from >= end => write!(
            f,
            "everything up to its end, when that was last seen at offset {end}, had been mirrored"
        ),
        (Some(from), Some(end)) => write!(
            f,
            "everything before offset {from} had been mirrored, its end was last seen at offset {end}, \
             and what lay between them and after is gone"
        ),
        (Some(from), None) => write!(
            f,
            "everything before offset {from} had been mirrored, and what it held after that is gone"
        ),
        (None, _) => {
            f.write_str("what it held and was not mirrored before, if there was anything, is gone")
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
            from: Some(offset),
            to: None,
            resume: log.start,
        });
    }
    if offset < log.start {
        let (to, resume) = (Some(log.start), log.start);
        return Some(Loss {
            cause: Cause::Truncated,
            from: Some(offset),
            to,
            resume,
        });
    }
    if offset > log.end {
        let (to, resume) = (Some(offset), log.end);
        return Some(Loss {
            cause: Cause::EndsBefore,
            from: Some(log.end),
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
            from: Some(4),
            to: Some(9),
            resume: 9,
        };
        let recreated = Loss {
            cause: Cause::Recreated,
            from: Some(4),
            to: None,
            resume: 0,
        };
        let ends_before = Loss {
            cause: Cause::EndsBefore,
            from: Some(3),
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
    fn a_topic_made_again_says_what_is_known_of_the_old_one() {
        let loss = |from, to| Loss {
            cause: Cause::Recreated,
            from,
            to,
            resume: 0,
        };
        for (from, to, text) in [
            (Some(9), Some(9), "everything up to its end"),
            (Some(9), Some(7), "everything up to its end"),
            (
                Some(4),
                Some(9),
                "its end was last seen at offset 9, and what lay between",
            ),
            (Some(4), None, "everything before offset 4"),
            (None, None, "if there was anything"),
        ] {
            let loss = loss(from, to);
            assert!(loss.to_string().contains(text), "{loss}");
            assert_eq!(loss.records(), None);
        }
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
