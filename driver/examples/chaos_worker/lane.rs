//! A lane: one managed transaction after the other.

use std::sync::Arc;
use std::time::Duration;

use gtc::{Error, ErrorKind, Record, Transaction};

use crate::World;
use crate::chance::Chance;
use crate::journal::{Line, Plan};
use crate::settle;
use gtc::views::TransactionInfo;

/// After an error that says that nothing can be done now.
const BREATH: Duration = Duration::from_millis(300);

/// Runs until the world ends.
pub(crate) async fn run(world: Arc<World>, lane: u32) {
    let mut chance = Chance::new(world.setup.seed, (&world.setup.name, world.life, lane));
    while !world.is_ending() {
        let plan = choose(&world, &mut chance);
        let tx = world.name(lane);
        world.journal.write(&Line::Planned {
            tx: &tx,
            plan: &plan,
        });
        match world.begin(&tx, plan.keyed) {
            Ok(transaction) => {
                let written = write(&world, &transaction, (&tx, &plan), &mut chance).await;
                end(&world, transaction, (&tx, &plan), written).await;
            }
            Err(error) => {
                world.journal.told(&tx, Err(&error));
                tokio::time::sleep(BREATH).await;
            }
        }
        tokio::time::sleep(chance.time(world.setup.pause_ms)).await;
    }
}

/// Most write to several clusters; a tenth to one, without a key; a few to none; an eighth aborts on purpose.
fn choose(world: &World, chance: &mut Chance) -> Plan {
    let sites = &world.setup.clusters;
    let all = sites.len() as u64;
    let (count, keyed) = match chance.below(100) {
        0..=9 => (1, false),
        10..=12 => (0, true),
        _ => (2 + chance.below(all - 1), true),
    };
    let mut plan = Plan {
        keyed,
        ends: if chance.percent(12) {
            "abort"
        } else {
            "commit"
        },
        ..Plan::default()
    };
    let first = chance.below(all);
    for step in 0..count {
        let site = &sites[((first + step) % all) as usize];
        plan.add(world, &site.name, chance);
    }
    plan
}

impl Plan {
    /// Adds some records for a cluster, seldom many.
    pub(crate) fn add(&mut self, world: &World, cluster: &str, chance: &mut Chance) {
        let most = if chance.percent(2) { 60 } else { 5 };
        let counts = self.writes.entry(cluster.to_owned()).or_default();
        let counts = counts.entry(world.setup.topic.clone()).or_default();
        for _ in 0..=chance.below(most) {
            *counts
                .entry(chance.below(world.setup.partitions))
                .or_default() += 1;
        }
    }

    /// The records for one cluster: topic, partition and value, each with its number among all of that cluster.
    pub(crate) fn records(&self, tx: &str, cluster: &str, pad: u64) -> Vec<(String, u64, String)> {
        let counts = self.writes.get(cluster).into_iter().flatten();
        let partitions = counts.flat_map(|(topic, partitions)| {
            let each = partitions.iter();
            each.flat_map(move |(p, count)| (0..*count).map(move |_| (topic.clone(), *p)))
        });
        let pad = "x".repeat(usize::try_from(pad).unwrap_or(0));
        let numbered = partitions.enumerate();
        numbered
            .map(|(k, (topic, partition))| (topic, partition, format!("tx={tx};k={k};pad={pad}")))
            .collect()
    }
}

pub(crate) fn record(topic: String, partition: u64, value: String) -> Record {
    Record {
        partition: i32::try_from(partition).ok(),
        value: Some(value.into()),
        ..Record::to(topic)
    }
}

async fn write(
    world: &World,
    transaction: &Transaction,
    (tx, plan): (&str, &Plan),
    chance: &mut Chance,
) -> Result<(), Error> {
    let pad = if chance.percent(3) { 9_000 } else { 150 };
    for cluster in plan.writes.keys() {
        for (topic, partition, value) in plan.records(tx, cluster, chance.below(pad)) {
            let record = record(topic, partition, value);
            transaction.send(cluster, record).await?;
        }
        if chance.percent(5) {
            tokio::time::sleep(chance.time(1_500)).await;
        }
    }
    // Long enough that a short time-out can no longer promise a commit.
    let shortest = world
        .setup
        .clusters
        .iter()
        .map(|site| site.timeout_ms)
        .min();
    if chance.below(400) == 0 && shortest < Some(60_000) {
        let half = shortest.unwrap_or_default() / 2;
        tokio::time::sleep(Duration::from_millis(half) + chance.time(half)).await;
    }
    Ok(())
}

/// Commits or aborts as planned, writes down what was told, and returns the word for it.
pub(crate) async fn end(
    world: &World,
    transaction: Transaction,
    (tx, plan): (&str, &Plan),
    written: Result<(), Error>,
) -> &'static str {
    let id = transaction.id();
    if let Err(error) = &written {
        let error = &error.to_string();
        world.journal.write(&Line::Failed { tx, error });
    }
    let what = if written.is_ok() && plan.ends == "commit" {
        world.journal.write(&Line::Asked { tx, what: "commit" });
        let result = transaction.commit().await;
        let told = result.as_ref().map(|_| "committed");
        world.journal.told(tx, told)
    } else {
        world.journal.write(&Line::Asked { tx, what: "abort" });
        let result = transaction.abort("the workload wants it").await;
        let is_aborted = |error: &Error| error.kind() == ErrorKind::Aborted;
        let told = match &result {
            Err(error) if !is_aborted(error) => Err(error),
            _ => Ok("aborted"),
        };
        world.journal.told(tx, told)
    };
    match what {
        "mixed" => {
            if let Some(view) = world.coordinator.describe(id) {
                settle::describe(world, tx, &TransactionInfo::from(&view));
            }
        }
        "in-doubt" | "error" if plan.keyed => world.doubts.add([tx.to_owned()]),
        _ => {}
    }
    if written.is_err() {
        tokio::time::sleep(BREATH).await;
    }
    what
}
