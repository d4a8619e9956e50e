//! The topics that are mirrored into: one that was deleted, or made again under its name, lacks what the
//! group has passed, which no reader of it would ever see.

use std::collections::BTreeMap;

use super::group::Group;
use super::memory::Memory;
use super::reporter::Reporter;
use super::site::{Site, Topics};
use crate::args::OnLoss;
use crate::failure::{Exit, Failure};

/// Looks after them.
pub(crate) struct Targets {
    policy: OnLoss,
    group: Group,
    memory: Memory,
    reporter: Reporter,
}

/// What became of a topic that was mirrored into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// There is none of its name.
    Missing,
    /// There is another one of its name.
    MadeAgain,
}

impl Targets {
    /// Looks after the topics that this group is mirrored into.
    pub(crate) fn new(
        policy: OnLoss,
        (group, memory): (Group, Memory),
        reporter: Reporter,
    ) -> Self {
        Self {
            policy,
            group,
            memory,
            reporter,
        }
    }

    /// Compares what a destination has with what was mirrored into it, and applies the policy. Returns
    /// the names of the topics that are missing, or may be other than they were made.
    pub(crate) async fn judge(
        &self,
        destination: &Site,
        (wanted, present): (&Topics, &Topics),
    ) -> Result<Vec<String>, Failure> {
        let (mut anew, mut losses) = (Vec::new(), Vec::new());
        for (name, topic) in wanted {
            let place = (destination.name(), name.as_str());
            let now = present.get(name).map(|topic| topic.id);
            let known = self.memory.target(place.0, place.1);
            let fate = match (known, now) {
                (_, None) => Fate::Missing,
                (Some(known), Some(now)) if known != now => Fate::MadeAgain,
                (_, Some(_)) => {
                    self.memory.set_target(place, now)?;
                    continue;
                }
            };
            let passed = self.group.passed(name, topic.partitions).await?;
            if !passed.is_empty() {
                losses.push(describe(place, fate, &passed));
            }
            anew.push(name.clone());
        }
        self.apply(losses)?;
        for name in wanted.keys() {
            let now = present.get(name).map(|topic| topic.id);
            self.memory.set_target((destination.name(), name), now)?;
        }
        Ok(anew)
    }

    fn apply(&self, losses: Vec<String>) -> Result<(), Failure> {
        if losses.is_empty() {
            return Ok(());
        }
        let group = self.group.name();
        if self.policy == OnLoss::Fail {
            return Err(Failure::with(
                Exit::Loss,
                format!(
                    "{}; find out why, then go on with what comes by --on-loss continue, or mirror all \
                     of it again under another --group than {group}",
                    losses.join("\n  ")
                ),
            ));
        }
        for loss in losses {
            self.reporter.warn(format!("lost: {loss}; going on"));
        }
        Ok(())
    }
}

fn describe((destination, topic): (&str, &str), fate: Fate, passed: &BTreeMap<i32, i64>) -> String {
    let what = match fate {
        Fate::Missing => "is missing there",
        Fate::MadeAgain => "was deleted there and made again",
    };
    let partitions = passed
        .iter()
        .map(|(partition, offset)| format!("{topic}-{partition} before offset {offset}"));
    format!(
        "participant `{destination}`: topic {topic} {what}, and what was mirrored earlier is not in it: {}",
        partitions.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_target_is_named_with_all_that_is_not_in_it() {
        let passed = BTreeMap::from([(0, 10), (2, 7)]);
        let text = describe(("b", "orders"), Fate::Missing, &passed);
        for part in [
            "participant `b`",
            "topic orders is missing",
            "orders-0 before offset 10, orders-2 before offset 7",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        let text = describe(("b", "orders"), Fate::MadeAgain, &passed);
        assert!(text.contains("deleted there and made again"), "{text}");
    }
}
