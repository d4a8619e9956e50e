//! What the clusters show as open under a coordinator's id, asked without its log and its owner.
//!
//! A coordinator that lives tells this by [`Coordinator::foreign`](crate::Coordinator::foreign).
//! Where none does, and most of all where its log is lost, only the clusters know it.

use std::time::Duration;

use gtc_core::{ListedTransaction, SlotName};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::config::{Config, ParticipantConfig};
use crate::kafka::control::ControlClient;
use crate::log;
use crate::views::broker_state_name;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Survey {
    /// The open branches under the coordinator's id.
    pub branches: Vec<OpenBranch>,
    /// The participants of which not everything is known, and why.
    pub unknown: Vec<Silent>,
}

/// An open branch under the coordinator's id, as a cluster shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OpenBranch {
    /// The participant's name.
    pub participant: String,
    /// Its transactional.id.
    pub transactional_id: String,
    /// The broker's name of its state.
    pub state: String,
    /// It is none of the log in the coordinator's directory, or there is no log.
    pub foreign: bool,
    /// When it began, in milliseconds since the Unix epoch, where the cluster tells.
    pub since_unix_ms: Option<u64>,
    /// The partitions that it holds back, as `topic-number`.
    pub partitions: Vec<String>,
}

/// A participant that did not tell everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Silent {
    /// Its name.
    pub participant: String,
    /// Why.
    pub why: String,
}

impl Survey {
    /// The branches of other logs: nobody ends them but an operator.
    pub fn foreign(&self) -> impl Iterator<Item = &OpenBranch> {
        self.branches.iter().filter(|branch| branch.foreign)
    }
}

/// Asks every participant at once, each for at most `patience`.
pub async fn survey(config: &Config, patience: Duration) -> Survey {
    let log_id = own_log_id(config);
    let deadline = Instant::now() + patience;
    let mut asked = JoinSet::new();
    for participant in config.participants() {
        let participant = participant.clone();
        let (id, name) = (config.id().to_owned(), participant.name().to_owned());
        asked.spawn(async move {
            let found = timeout_at(deadline, open_branches(&participant, &id, log_id)).await;
            let late = || format!("no answer within {} ms", patience.as_millis());
            (name, found.unwrap_or_else(|_| Err(late())))
        });
    }
    let mut survey = Survey::default();
    for (participant, found) in asked.join_all().await {
        match found {
            Ok(mut branches) => survey.branches.append(&mut branches),
            Err(why) => survey.unknown.push(Silent { participant, why }),
        }
    }
    let key = |branch: &OpenBranch| (branch.participant.clone(), branch.transactional_id.clone());
    survey.branches.sort_by_key(key);
    survey
        .unknown
        .sort_by(|left, right| left.participant.cmp(&right.participant));
    survey
}

/// The id of the coordinator's log, if there is one that can be read.
pub(crate) fn own_log_id(config: &Config) -> Option<u64> {
    let replay = log::read_only(config.log()).ok()?;
    (replay.identity.coordinator == config.id()).then_some(replay.identity.log_id)
}

async fn open_branches(
    participant: &ParticipantConfig,
    coordinator: &str,
    log_id: Option<u64>,
) -> Result<Vec<OpenBranch>, String> {
    let properties = participant.kafka_properties();
    let properties = properties.map_err(|error| error.problem().to_owned())?;
    let client = ControlClient::open(&properties).map_err(|error| error.brief())?;
    open_of(&client, coordinator, log_id).await
}

/// The open branches on one cluster.
pub(crate) async fn open_of(
    client: &ControlClient,
    coordinator: &str,
    log_id: Option<u64>,
) -> Result<Vec<OpenBranch>, String> {
    let prefix = SlotName::coordinator_prefix(coordinator);
    let listing = client.list_proved(&prefix).await;
    if !listing.complete {
        let why = listing.detail;
        return Err(why.unwrap_or_else(|| "not every broker answered the listing".to_owned()));
    }
    let mut branches = Vec::new();
    for listed in listing.transactions {
        let Some(name) = SlotName::parse(coordinator, &listed.transactional_id) else {
            continue;
        };
        if listed.state.is_open() {
            let foreign = log_id != Some(name.log_id.0);
            branches.push(open_branch(client, &listed, foreign).await);
        }
    }
    Ok(branches)
}

async fn open_branch(
    client: &ControlClient,
    listed: &ListedTransaction,
    foreign: bool,
) -> OpenBranch {
    // What it holds back is for people: without it the branch is still one.
    let extent = client.describe_extent(&listed.transactional_id).await;
    let extent = extent.ok().flatten();
    let since = extent.as_ref().map(|it| it.description.start_time_ms);
    OpenBranch {
        participant: client.participant().to_owned(),
        transactional_id: listed.transactional_id.to_string(),
        state: broker_state_name(listed.state).to_owned(),
        foreign,
        since_unix_ms: since.and_then(|since| u64::try_from(since).ok()),
        partitions: extent.map_or_else(Vec::new, |extent| extent.partitions),
    }
}
