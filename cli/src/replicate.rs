//! `gtc replicate`: mirrors topics, each batch in one global transaction.
//!
//! A batch is read from the source, written to every destination, and its offsets go to the
//! source's own group, all in one transaction. Whatever happens to the process, the group stands
//! where the data is.

mod admin;
mod attempt;
mod backoff;
mod catalogue;
mod goal;
mod group;
mod loss;
mod memory;
mod mirror;
mod origin;
mod plan;
mod progress;
mod reporter;
mod route;
mod selection;
mod site;
mod table;
mod targets;
mod unsettled;
mod watch;

use std::collections::BTreeSet;
use std::time::Duration;

use gtc::{Config, Coordinator, ParticipantConfig, TransactionState};
use tokio::time::timeout;

use crate::args::ReplicateArgs;
use crate::config::{default_group, participant};
use crate::endpoint::{self, Health};
use crate::failure::{Exit, Failure};
use crate::signals::Shutdown;
use catalogue::Catalogue;
use group::Group;
use memory::Memory;
use mirror::{Mirror, Parts};
use plan::Permission;
use reporter::Reporter;
use route::{Destination, Route};
use selection::Selection;
use site::Site;
use targets::Targets;

/// How long the start waits for the recovery of the run before; it goes on in the background.
const RECOVERY_PATIENCE: Duration = Duration::from_secs(10);

/// Runs `gtc replicate`.
pub(crate) async fn run(config: Config, args: ReplicateArgs) -> Result<Exit, Failure> {
    let selection = Selection::new(&args.topic, args.topics.clone())?;
    let (from, to) = participants(&config, &args)?;
    refuse_narrow(&config, to.len())?;
    let shutdown = Shutdown::listen()?;
    let health = Health::default();
    if let Some(address) = args.metrics {
        endpoint::serve(address, health.clone()).await?;
    }
    let source = Site::open(&from).await?;
    let destinations = open_destinations(&source, &to).await?;
    let group = args.group.clone();
    let group = group.unwrap_or_else(|| default_group(&config));
    let group = Group::new(&from, &group)?;
    let log = config.log().to_owned();
    let coordinator = Coordinator::open(config)
        .await
        .map_err(Failure::from_library)?;
    let memory = Memory::open(&log, group.name())?;
    let permission = Permission {
        create: !args.no_create_topics,
        extend: args.extend_topics,
    };
    let reporter = Reporter::start(args.json, (health, args.from.clone()), coordinator.clone());
    let targets = Targets::new(
        args.on_loss,
        (group.clone(), memory.clone()),
        reporter.clone(),
    );
    let parts = Parts {
        group,
        route: route(&source, &destinations),
        catalogue: Catalogue::new(selection, permission, targets),
        source_config: from,
        source,
        destinations,
        coordinator: coordinator.clone(),
        reporter: reporter.clone(),
        shutdown,
        args,
    };
    let of = (parts.source.name(), parts.group.name());
    let result = match refuse_damage(&coordinator, of).await {
        Ok(()) => Mirror::new(parts, memory).run().await,
        Err(failure) => Err(failure),
    };
    finish(&coordinator, &reporter, result).await
}

fn participants(
    config: &Config,
    args: &ReplicateArgs,
) -> Result<(ParticipantConfig, Vec<ParticipantConfig>), Failure> {
    let from = participant(config, &args.from)?.clone();
    let mut seen = BTreeSet::from([args.from.as_str()]);
    let mut to = Vec::new();
    for name in &args.to {
        if !seen.insert(name) {
            return Err(Failure::usage(format!(
                "`{name}` is named twice; source and destinations are different participants"
            )));
        }
        to.push(participant(config, name)?.clone());
    }
    Ok((from, to))
}

/// Two participants may be one cluster under two names: mirroring it onto itself would loop.
async fn open_destinations(source: &Site, to: &[ParticipantConfig]) -> Result<Vec<Site>, Failure> {
    let mut names = vec![(source.cluster_id().to_owned(), source.name().to_owned())];
    let mut destinations = Vec::new();
    for config in to {
        let site = Site::open(config).await?;
        if let Some((_, other)) = names.iter().find(|(id, _)| id == site.cluster_id()) {
            return Err(Failure::usage(format!(
                "participants `{other}` and `{}` are one cluster ({}); leave one of them out",
                site.name(),
                site.cluster_id()
            )));
        }
        names.push((site.cluster_id().to_owned(), site.name().to_owned()));
        destinations.push(site);
    }
    Ok(destinations)
}

/// A batch has a branch at the source, for its offsets, and one at each destination.
fn refuse_narrow(config: &Config, destinations: usize) -> Result<(), Failure> {
    let needed = destinations as u64 + 1;
    let given = config.branches_max();
    if given >= needed {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "a batch to {destinations} destinations takes {needed} branches, and branches_max is \
         {given}; raise it in [coordinator.limits] to {needed} or more"
    )))
}

fn route(source: &Site, destinations: &[Site]) -> Route {
    let to = destinations.iter().map(|site| Destination {
        participant: site.name().to_owned(),
        cluster_id: site.cluster_id().to_owned(),
    });
    Route::new(source.cluster_id(), to.collect())
}

/// What ended otherwise than decided in an earlier run is not to be built upon.
async fn refuse_damage(coordinator: &Coordinator, of: (&str, &str)) -> Result<(), Failure> {
    match timeout(RECOVERY_PATIENCE, coordinator.recovered()).await {
        Ok(recovered) => recovered.map_err(Failure::from_library)?,
        Err(_) => tracing::warn!("the recovery of the run before goes on in the background"),
    }
    refuse_stopped(coordinator)?;
    refuse_foreign(coordinator)?;
    let listed = coordinator.list();
    let mixed = listed
        .iter()
        .filter(|view| view.state == TransactionState::Mixed);
    let ids: Vec<String> = mixed.map(|view| view.id.to_string()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    Err(unsettled::found_mixed(&ids, of))
}

/// What another log left open holds back the group or the readers, until an operator ends it.
fn refuse_foreign(coordinator: &Coordinator) -> Result<(), Failure> {
    let foreign = coordinator.status().foreign;
    match reporter::describe_foreign(&foreign) {
        None => Ok(()),
        Some(text) => Err(Failure::with(Exit::NeedsHand, text)),
    }
}

/// A participant that is stopped until a restart, such as one at the address of another cluster, is not
/// written to, nor are topics made there.
fn refuse_stopped(coordinator: &Coordinator) -> Result<(), Failure> {
    let participants = coordinator.status().participants;
    let stopped = participants.iter().find(|found| found.state == "stopped");
    match stopped {
        None => Ok(()),
        Some(found) => Err(Failure::with(
            Exit::Error,
            format!(
                "participant {} is stopped: {}",
                found.name,
                found
                    .detail
                    .as_deref()
                    .unwrap_or("see the log lines before")
            ),
        )),
    }
}

async fn finish(
    coordinator: &Coordinator,
    reporter: &Reporter,
    result: Result<(), Failure>,
) -> Result<Exit, Failure> {
    let closed = coordinator.close().await;
    reporter.finish();
    result?;
    closed.map_err(|error| {
        let text = format!("{error}; the next start, or `gtc recover`, ends it");
        Failure::with(Exit::NeedsHand, text)
    })?;
    Ok(Exit::Done)
}
