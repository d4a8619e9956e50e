//! A lane with an own producer of the application: librdkafka in this process, or the Java client in one of its own.

mod java;
mod native;

use std::sync::Arc;
use std::time::Duration;

use gtc::{Error, OwnBranch, Reuse, Transaction, VersionClass};

use crate::chance::Chance;
use crate::journal::{Line, Plan};
use crate::lane::{end, record};
use crate::setup::Own;
use crate::{Failure, World};

const BREATH: Duration = Duration::from_millis(400);
/// How long one call of a producer may take.
const PATIENCE: Duration = Duration::from_secs(45);

/// A producer of either kind. Its calls block.
pub(crate) enum Producer {
    Native(native::Producer),
    Java(java::Producer),
}

impl Producer {
    fn open(world: &World, own: &Own) -> Result<Self, Failure> {
        let site = world.setup.site(&own.cluster).ok_or("no such cluster")?;
        let id = transactional_id(world, own);
        Ok(match own.is_java {
            true => Self::Java(java::Producer::open(&site.bootstrap, &id)?),
            false => Self::Native(native::Producer::open(site, &id)?),
        })
    }

    fn begin(&mut self) -> Result<(), Failure> {
        match self {
            Self::Native(producer) => producer.begin(),
            Self::Java(producer) => producer.call("begin"),
        }
    }

    /// Writes all, and returns once each is delivered.
    fn write(&mut self, records: &[(String, u64, String)]) -> Result<(), Failure> {
        match self {
            Self::Native(producer) => producer.write(records),
            Self::Java(producer) => producer.write(records),
        }
    }

    /// Repeats what gtc has done; an error means that the producer has to be replaced.
    fn end(&mut self, commits: bool) -> Result<(), Failure> {
        match self {
            Self::Native(producer) => producer.end(commits),
            Self::Java(producer) => producer.call(if commits { "commit" } else { "abort" }),
        }
    }
}

fn transactional_id(world: &World, own: &Own) -> String {
    let kind = if own.is_java { "java" } else { "native" };
    format!("own.{}.{}.{kind}", world.setup.name, own.cluster)
}

/// As a restarted application does: waits for what was promised, then takes the id over, which ends what was not.
pub(crate) async fn settle(world: &World, own: &Own) -> Result<(), Failure> {
    drop(open(world, own).await?);
    Ok(())
}

async fn open(world: &World, own: &Own) -> Result<Producer, Failure> {
    let id = transactional_id(world, own);
    world.coordinator.settle(&own.cluster, &id).await?;
    // The call blocks, and the other lanes go on meanwhile.
    tokio::task::block_in_place(|| Producer::open(world, own))
}

/// Runs until the world ends.
pub(crate) async fn run(world: Arc<World>, lane: u32, own: Own) {
    let mut chance = Chance::new(world.setup.seed, (&world.setup.name, world.life, lane));
    let mut kept = None;
    while !world.is_ending() {
        let producer = match kept.take() {
            Some(producer) => Ok(producer),
            None => open(&world, &own).await,
        };
        match producer {
            Ok(mut producer) => {
                let tx = world.name(lane);
                match one(&world, (&tx, &own), &mut producer, &mut chance).await {
                    Ok(Reuse::Reuse) => kept = Some(producer),
                    Ok(Reuse::Discard) => {}
                    Err(error) => eprintln!("own producer of {tx}: {error}"),
                }
            }
            Err(error) => {
                eprintln!("own producer: {error}");
                tokio::time::sleep(BREATH).await;
            }
        }
        tokio::time::sleep(chance.time(world.setup.pause_ms * 2)).await;
    }
}

/// One transaction. An error means that the producer has to be replaced.
async fn one(
    world: &World,
    (tx, own): (&str, &Own),
    producer: &mut Producer,
    chance: &mut Chance,
) -> Result<Reuse, Failure> {
    let mut plan = Plan {
        keyed: true,
        ends: if chance.percent(12) {
            "abort"
        } else {
            "commit"
        },
        own: Some(own.cluster.clone()),
        ..Plan::default()
    };
    for site in &world.setup.clusters {
        plan.add(world, &site.name, chance);
    }
    world.journal.write(&Line::Planned { tx, plan: &plan });
    let transaction = match world.begin(tx, true) {
        Ok(transaction) => transaction,
        Err(error) => {
            world.journal.told(tx, Err(&error));
            return Err(error.into());
        }
    };
    let class = if own.is_java {
        VersionClass::V2
    } else {
        VersionClass::V1
    };
    let id = transactional_id(world, own);
    let branch = transaction.enlist(&own.cluster, &id, class).await;
    let written = match &branch {
        Ok(branch) => write(&transaction, (tx, &plan, own), (producer, branch)).await,
        Err(error) => Err(format!("enlist: {error}").into()),
    };
    let refused = written.as_ref().err().map(ToString::to_string);
    let told = finish(world, transaction, (tx, plan), refused.as_deref()).await;
    let reuse = branch?.finished().await?;
    written?;
    match told {
        "committed" => tokio::task::block_in_place(|| producer.end(true))?,
        "aborted" => tokio::task::block_in_place(|| producer.end(false))?,
        _ => return Ok(Reuse::Discard),
    }
    Ok(reuse)
}

async fn finish(
    world: &World,
    transaction: Transaction,
    (tx, mut plan): (&str, Plan),
    refused: Option<&str>,
) -> &'static str {
    if let Some(error) = refused {
        world.journal.write(&Line::Failed { tx, error });
        plan.ends = "abort";
    }
    end(world, transaction, (tx, &plan), Ok(())).await
}

async fn write(
    transaction: &Transaction,
    (tx, plan, own): (&str, &Plan, &Own),
    (producer, branch): (&mut Producer, &OwnBranch),
) -> Result<(), Failure> {
    let records = plan.records(tx, &own.cluster, 40);
    let written = tokio::task::block_in_place(|| {
        producer.begin()?;
        producer.write(&records)
    });
    match &written {
        Ok(()) => branch.state_delivered(),
        Err(error) => branch.state_failed(error),
    }
    written?;
    for cluster in plan.writes.keys().filter(|name| **name != own.cluster) {
        for (topic, partition, value) in plan.records(tx, cluster, 40) {
            let sent: Result<(), Error> = transaction
                .send(cluster, record(topic, partition, value))
                .await;
            sent?;
        }
    }
    Ok(())
}
