//! The topics that are mirrored, kept in step with source and destinations.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::plan::{Obstacle, Permission, SourceTopic, Step, plan};
use super::selection::Selection;
use super::site::{Site, Topics};
use super::targets::Targets;
use crate::failure::Failure;

/// How long a change of topics may take until every broker shows it.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a destination may take to show its topics where nothing is new.
const LOOK_PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked for.
const SETTLE_INTERVAL: Duration = Duration::from_millis(100);

/// The topics that are mirrored.
pub(crate) struct Catalogue {
    selection: Selection,
    permission: Permission,
    targets: Targets,
    /// Those whose destinations are ready.
    ready: Topics,
}

impl Catalogue {
    /// An empty one, to be refreshed.
    pub(crate) fn new(selection: Selection, permission: Permission, targets: Targets) -> Self {
        Self {
            selection,
            permission,
            targets,
            ready: Topics::new(),
        }
    }

    /// The topics whose destinations are ready, as the source showed them last.
    pub(crate) fn ready(&self) -> &Topics {
        &self.ready
    }

    /// The names of the topics whose destinations are ready.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.ready.keys().map(String::as_str).collect()
    }

    /// Whether every destination has this partition.
    pub(crate) fn covers(&self, topic: &str, partition: i32) -> bool {
        self.ready
            .get(topic)
            .is_some_and(|topic| partition < topic.partitions)
    }

    /// Looks at the source, and makes the destinations ready for what is new. Tells whether topics
    /// came, went or grew.
    pub(crate) async fn refresh(
        &mut self,
        source: &Site,
        destinations: &[Site],
    ) -> Result<bool, Failure> {
        let mut topics = source.topics().await?;
        self.require_named(source, &topics)?;
        topics.retain(|name, _| self.selection.selects(name));
        let changed: Vec<&str> = changed(&self.ready, &topics);
        for destination in destinations {
            self.look_after(destination, (source, &topics), &changed)
                .await?;
        }
        if !changed.is_empty() {
            // What grew while the mirror runs was in step before: adding partitions keeps it so.
            self.permission.extend |= self.permission.create;
        }
        let is_changed = !changed.is_empty() || self.ready.len() != topics.len();
        self.report_gone(&topics);
        self.ready = topics;
        Ok(is_changed)
    }

    /// Makes a destination ready for what is new, and for what is gone there if the policy allows it.
    async fn look_after(
        &self,
        destination: &Site,
        (source, topics): (&Site, &Topics),
        changed: &[&str],
    ) -> Result<(), Failure> {
        let present = match timeout(LOOK_PATIENCE, destination.topics()).await {
            Ok(Ok(present)) => present,
            // Nothing is new, and what is gone is seen once it answers again.
            _ if changed.is_empty() => return Ok(()),
            _ => destination.topics().await?,
        };
        let anew = self.targets.judge(destination, (topics, &present)).await?;
        let anew = anew.iter().map(String::as_str);
        let names: BTreeSet<&str> = changed.iter().copied().chain(anew).collect();
        let names: Vec<&str> = names.into_iter().collect();
        if names.is_empty() {
            return Ok(());
        }
        let wanted = describe(source, topics, &names).await?;
        if prepare(destination, &wanted, self.permission).await? {
            let present = destination.topics().await?;
            self.targets.judge(destination, (topics, &present)).await?;
        }
        Ok(())
    }

    fn require_named(&self, source: &Site, topics: &Topics) -> Result<(), Failure> {
        let present: BTreeSet<&str> = topics.keys().map(String::as_str).collect();
        let missing = self.selection.missing(&present);
        // A topic that vanishes later was deleted on purpose, or comes back with another id.
        if !self.ready.is_empty() || missing.is_empty() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "participant `{}` has no topic {}; create it there, or correct --topic",
            source.name(),
            missing.join(", ")
        )))
    }

    fn report_gone(&self, topics: &Topics) {
        for topic in self.ready.keys().filter(|name| !topics.contains_key(*name)) {
            tracing::warn!(
                topic,
                "the topic was deleted at the source; it is no longer mirrored"
            );
        }
    }
}

/// The topics that are new, or have other partitions than before.
fn changed<'a>(ready: &Topics, now: &'a Topics) -> Vec<&'a str> {
    let is_same = |name: &String, partitions: i32| {
        ready
            .get(name)
            .is_some_and(|topic| topic.partitions == partitions)
    };
    let changed = now
        .iter()
        .filter(|(name, topic)| !is_same(name, topic.partitions));
    changed.map(|(name, _)| name.as_str()).collect()
}

async fn describe(
    source: &Site,
    topics: &Topics,
    names: &[&str],
) -> Result<Vec<SourceTopic>, Failure> {
    let mut settings = source.admin().settings(names).await?;
    let described = names.iter().map(|name| SourceTopic {
        name: (*name).to_owned(),
        partitions: topics.get(*name).map_or(0, |topic| topic.partitions),
        settings: settings.remove(*name),
    });
    Ok(described.collect())
}

/// Tells whether anything had to be changed.
async fn prepare(
    destination: &Site,
    wanted: &[SourceTopic],
    permission: Permission,
) -> Result<bool, Failure> {
    let steps = plan(wanted, &counts(&destination.topics().await?), permission)
        .map_err(|obstacles| refused(destination, &obstacles))?;
    if steps.is_empty() {
        return Ok(false);
    }
    destination.admin().carry_out(&steps).await?;
    await_settled(destination, wanted, &steps).await?;
    Ok(true)
}

/// Waits until the cluster shows what was changed; a producer would else meet unknown partitions.
async fn await_settled(
    destination: &Site,
    wanted: &[SourceTopic],
    steps: &[Step],
) -> Result<(), Failure> {
    const LOOK_ONLY: Permission = Permission {
        create: false,
        extend: false,
    };
    let deadline = Instant::now() + SETTLE_TIMEOUT;
    loop {
        let present = counts(&destination.topics().await?);
        match plan(wanted, &present, LOOK_ONLY) {
            Ok(_) => return Ok(()),
            Err(obstacles) if Instant::now() >= deadline => {
                let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
                let steps = steps.join("; ");
                tracing::warn!(
                    steps,
                    "topics were changed, and the cluster does not show it"
                );
                return Err(refused(destination, &obstacles));
            }
            Err(_) => sleep(SETTLE_INTERVAL).await,
        }
    }
}

fn counts(topics: &Topics) -> BTreeMap<String, i32> {
    topics
        .iter()
        .map(|(name, topic)| (name.clone(), topic.partitions))
        .collect()
}

fn refused(destination: &Site, obstacles: &[Obstacle]) -> Failure {
    let texts: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    Failure::usage(format!(
        "participant `{}`: {}",
        destination.name(),
        texts.join("\n  ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::loss::TopicId;
    use super::super::site::Topic;
    use super::*;

    fn topics(list: &[(&str, i32)]) -> Topics {
        let topic = |partitions| Topic {
            id: TopicId(1),
            partitions,
        };
        list.iter()
            .map(|(name, partitions)| ((*name).to_owned(), topic(*partitions)))
            .collect()
    }

    #[test]
    fn only_new_and_grown_topics_are_planned() {
        let ready = topics(&[("same", 2), ("grown", 2), ("gone", 1)]);
        let now = topics(&[("same", 2), ("grown", 3), ("new", 1)]);
        assert_eq!(changed(&ready, &now), ["grown", "new"]);
    }
}
