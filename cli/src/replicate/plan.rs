//! What has to happen to the topics of a destination before records go there: a pure function.

use std::collections::BTreeMap;
use std::fmt;

/// A topic at the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceTopic {
    /// Its name.
    pub(crate) name: String,
    /// How many partitions it has.
    pub(crate) partitions: i32,
    /// Its settings that differ from the cluster's defaults; `None` where the cluster does not show them.
    pub(crate) settings: Option<BTreeMap<String, String>>,
}

/// What a destination may have changed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permission {
    /// Missing topics may be created.
    pub(crate) create: bool,
    /// Partitions may be added to existing ones.
    pub(crate) extend: bool,
}

/// One step on a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Create the topic as it is at the source.
    Create(SourceTopic),
    /// Add partitions up to this count.
    Extend {
        /// The topic.
        topic: String,
        /// The new count.
        partitions: i32,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(topic) => {
                let SourceTopic {
                    name, partitions, ..
                } = topic;
                write!(f, "create {name} with {partitions} partitions")
            }
            Self::Extend { topic, partitions } => {
                write!(f, "add partitions to {topic} up to {partitions}")
            }
        }
    }
}

/// Why a destination cannot take a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// It is missing and must not be created.
    Missing(String),
    /// It has fewer partitions than the source.
    TooNarrow {
        /// The topic.
        topic: String,
        /// Partitions at the source.
        source: i32,
        /// Partitions at the destination.
        destination: i32,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(topic) => write!(
                f,
                "topic {topic} does not exist; create it, or leave --no-create-topics out"
            ),
            Self::TooNarrow {
                topic,
                source,
                destination,
            } => write!(
                f,
                "topic {topic} has {destination} partitions and {source} at the source; records \
                keep their partition, so add partitions there (`--extend-topics` does it), or \
                mirror to another cluster"
            ),
        }
    }
}

/// The steps that make a destination ready, or all that stands against it.
///
/// `present` are the partition counts of the topics that the destination has.
pub(crate) fn plan(
    wanted: &[SourceTopic],
    present: &BTreeMap<String, i32>,
    permission: Permission,
) -> Result<Vec<Step>, Vec<Obstacle>> {
    let mut steps = Vec::new();
    let mut obstacles = Vec::new();
    for topic in wanted {
        match plan_topic(topic, present.get(&topic.name).copied(), permission) {
            Ok(step) => steps.extend(step),
            Err(obstacle) => obstacles.push(obstacle),
        }
    }
    if obstacles.is_empty() {
        Ok(steps)
    } else {
        Err(obstacles)
    }
}

fn plan_topic(
    topic: &SourceTopic,
    present: Option<i32>,
    permission: Permission,
) -> Result<Option<Step>, Obstacle> {
    match present {
        None if permission.create => Ok(Some(Step::Create(topic.clone()))),
        None => Err(Obstacle::Missing(topic.name.clone())),
        Some(partitions) if partitions >= topic.partitions => Ok(None),
        Some(_) if permission.extend => Ok(Some(Step::Extend {
            topic: topic.name.clone(),
            partitions: topic.partitions,
        })),
        Some(destination) => Err(Obstacle::TooNarrow {
            topic: topic.name.clone(),
            source: topic.partitions,
            destination,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, partitions: i32) -> SourceTopic {
        let settings = BTreeMap::from([("retention.ms".to_owned(), "1000".to_owned())]);
        SourceTopic {
            name: name.to_owned(),
            partitions,
            settings: Some(settings),
        }
    }

    const ALL: Permission = Permission {
        create: true,
        extend: true,
    };
    const CREATE: Permission = Permission {
        create: true,
        extend: false,
    };
    const NONE: Permission = Permission {
        create: false,
        extend: false,
    };

    fn too_narrow() -> Obstacle {
        Obstacle::TooNarrow {
            topic: "t".into(),
            source: 3,
            destination: 2,
        }
    }

    #[test]
    fn each_case_of_one_topic() {
        let create = || Ok(vec![Step::Create(topic("t", 3))]);
        let extend = || {
            Ok(vec![Step::Extend {
                topic: "t".into(),
                partitions: 3,
            }])
        };
        let missing = || Err(vec![Obstacle::Missing("t".into())]);
        for (present, permission, expected) in [
            (None, ALL, create()),
            (None, CREATE, create()),
            (None, NONE, missing()),
            (Some(2), ALL, extend()),
            (Some(2), CREATE, Err(vec![too_narrow()])),
            (Some(2), NONE, Err(vec![too_narrow()])),
            (Some(3), NONE, Ok(vec![])),
            (Some(4), ALL, Ok(vec![])),
        ] {
            let present = present
                .map(|count| ("t".to_owned(), count))
                .into_iter()
                .collect();
            let planned = plan(&[topic("t", 3)], &present, permission);
            assert_eq!(planned, expected, "{present:?} {permission:?}");
        }
    }

    #[test]
    fn every_obstacle_is_reported_and_nothing_is_done_half() {
        let present = BTreeMap::from([("t".to_owned(), 2), ("u".to_owned(), 9)]);
        let wanted = [topic("t", 3), topic("u", 3), topic("v", 1)];
        let expected = Err(vec![too_narrow(), Obstacle::Missing("v".into())]);
        assert_eq!(plan(&wanted, &present, NONE), expected);
    }

    #[test]
    fn an_obstacle_names_both_counts_and_the_way_out() {
        let text = too_narrow().to_string();
        for part in [
            "topic t",
            "2 partitions",
            "3 at the source",
            "--extend-topics",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
