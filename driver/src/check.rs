//! Connects to each participant and proves the preconditions of the guarantee, each with its
//! remedy where it is not met. It opens no transaction and needs no log.

mod data_plane;
mod finding;

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::config::{Config, ParticipantConfig, unknown_participant};
use crate::error::Error;
use crate::kafka::control::{
    Attempt, Cluster, ConfigResource, ControlClient, ControlError, ControlErrorKind, EndTxnAnswer,
};
use crate::survey::{self, OpenBranch};
pub use finding::{Finding, Level, worst};
use finding::{
    Judgement, judge_min_insync, judge_state_log, judge_timeout, judge_transaction_version,
    judge_unclean_election,
};

/// The time-out of the probe, which never opens a transaction.
const PROBE_TIMEOUT_MS: i32 = 60_000;

/// How long a coordinator may be on its way, and how often it is asked.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

/// What is checked.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    /// Names of participants; none means all.
    pub participants: Vec<String>,
    /// A consumer group that has to be readable; `gtc-` and the coordinator's id if none is named.
    pub group: Option<String>,
}

impl CheckOptions {
    /// All participants, and the group that replication uses.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks only these participants.
    #[must_use]
    pub fn participants<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.participants = names.into_iter().map(Into::into).collect();
        self
    }

    /// Checks this consumer group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }
}

/// Checks every precondition on every participant, by participant. A precondition that is not met
/// is a finding, and no error.
///
/// # Errors
/// Config for an unknown participant.
pub async fn check(config: &Config, options: CheckOptions) -> Result<Vec<Finding>, Error> {
    let group = options
        .group
        .unwrap_or_else(|| format!("gtc-{}", config.id()));
    let log_id = survey::own_log_id(config);
    let mut checks = JoinSet::new();
    for participant in chosen(config, &options.participants)? {
        let probe = Probe {
            participant: participant.clone(),
            transactional_id: format!("gtc.{}.check", config.id()),
            coordinator: config.id().to_owned(),
            log_id,
            group: group.clone(),
        };
        checks.spawn(probe.check());
    }
    let mut checked = checks.join_all().await;
    checked.sort_by(|left, right| left.participant.cmp(&right.participant));
    for (index, judgement) in judge_distinct(&checked) {
        let Checked {
            participant,
            findings,
            ..
        } = &mut checked[index];
        // Beside the answer that names the cluster.
        findings.insert(1, judgement.of(participant, "distinct cluster"));
    }
    Ok(checked.into_iter().flat_map(|one| one.findings).collect())
}

/// What was found of one participant.
struct Checked {
    participant: String,
    /// Known where it answered.
    cluster_id: Option<String>,
    findings: Vec<Finding>,
}

/// Two names for one cluster are no two clusters: the transaction over them protects nothing, and a
/// mirror between them would copy a topic into itself. One judgement for each that answered.
fn judge_distinct(checked: &[Checked]) -> Vec<(usize, Judgement)> {
    let judge = |(index, one): (usize, &Checked)| {
        let id = one.cluster_id.as_ref()?;
        let others = checked.iter().enumerate();
        let others = others
            .filter(|(other, found)| *other != index && found.cluster_id.as_ref() == Some(id));
        let others: Vec<String> = others
            .map(|(_, found)| format!("`{}`", found.participant))
            .collect();
        let judgement = match others.is_empty() {
            true => Judgement::ok("no other participant is the same cluster"),
            false => Judgement::fail(
                format!("one and the same cluster as {} ({id})", others.join(", ")),
                "leave one of them out, or correct its bootstrap.servers: each cluster is one \
                 participant",
            ),
        };
        Some((index, judgement))
    };
    checked.iter().enumerate().filter_map(judge).collect()
}

fn chosen<'a>(config: &'a Config, names: &[String]) -> Result<Vec<&'a ParticipantConfig>, Error> {
    let known = config.participants();
    if names.is_empty() {
        return Ok(known.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            let found = known.iter().find(|known| known.name() == name);
            found.ok_or_else(|| {
                let known = known.iter().map(ParticipantConfig::name);
                unknown_participant("check", name, known)
            })
        })
        .collect()
}

/// What one participant is asked with.
struct Probe {
    participant: ParticipantConfig,
    transactional_id: String,
    coordinator: String,
    /// The log in the coordinator's directory, if there is one.
    log_id: Option<u64>,
    group: String,
}

impl Probe {
    async fn check(self) -> Checked {
        let participant = self.participant.name().to_owned();
        let (cluster_id, judged) = match self.connect().await {
            Ok((client, cluster)) => {
                let judged = self.judgements(&client, &cluster).await;
                (Some(cluster.id), judged)
            }
            Err(judged) => (None, vec![judged]),
        };
        let judged = judged.into_iter();
        Checked {
            findings: judged
                .map(|(check, judgement)| judgement.of(&participant, check))
                .collect(),
            participant,
            cluster_id,
        }
    }

    async fn connect(&self) -> Result<(ControlClient, Cluster), (&'static str, Judgement)> {
        let client = self.open().map_err(|judgement| ("properties", judgement))?;
        let cluster = client.cluster().await;
        let cluster = cluster.map_err(|error| judge_connection(&error))?;
        Ok((client, cluster))
    }

    async fn judgements(
        &self,
        client: &ControlClient,
        cluster: &Cluster,
    ) -> Vec<(&'static str, Judgement)> {
        let mut judged = vec![
            (
                "reachable",
                Judgement::ok(format!("cluster.id {}", cluster.id)),
            ),
            (
                "authentication",
                Judgement::ok("accepted by the control plane"),
            ),
            (
                "data plane",
                data_plane::judge_reachable(&self.participant).await,
            ),
        ];
        judged.extend(self.judge_settings(client, cluster).await);
        judged.push(("transaction.version", judge_features(client).await));
        judged.push(("transactional ids", self.judge_listing(client).await));
        judged.push(("foreign branches", self.judge_foreign(client).await));
        judged.push((
            "group",
            data_plane::judge_group(&self.participant, &self.group).await,
        ));
        judged
    }

    fn open(&self) -> Result<ControlClient, Judgement> {
        let refused = |error: Error| Judgement::fail(error.problem(), error.remedy());
        let properties = self.participant.kafka_properties().map_err(refused)?;
        ControlClient::open(&properties)
            .map_err(|error| Judgement::fail(error.problem(), error.remedy()))
    }

    async fn judge_settings(
        &self,
        client: &ControlClient,
        cluster: &Cluster,
    ) -> Vec<(&'static str, Judgement)> {
        let settings = match Settings::read(client, cluster).await {
            Ok(settings) => settings,
            Err(error) => {
                let remedy = "allow DescribeConfigs on the cluster";
                return vec![("broker settings", Judgement::warn(error.problem(), remedy))];
            }
        };
        let ceiling = settings.least("transaction.max.timeout.ms");
        let state_log = judge_state_log(
            settings.least("transaction.state.log.replication.factor"),
            settings.least("transaction.state.log.min.isr"),
        );
        let min_insync = judge_min_insync(
            settings.least("default.replication.factor"),
            settings.least("min.insync.replicas"),
        );
        let unclean = settings.worst("unclean.leader.election.enable", "true");
        vec![
            ("transaction time-out", self.judge_timeout(ceiling)),
            ("unclean election", judge_unclean_election(unclean)),
            ("transaction state", state_log),
            ("min.insync.replicas", min_insync),
        ]
    }

    /// What opening a coordinator would say of the time-out, and how well it is chosen.
    fn judge_timeout(&self, ceiling_ms: Option<i64>) -> Judgement {
        match self.participant.fitted("check", ceiling_ms) {
            Ok(fitted) => judge_timeout(i64::from(fitted.timeout_ms), ceiling_ms),
            Err(error) => Judgement::fail(error.problem(), error.remedy()),
        }
    }

    /// Branches that another log left open hold readers back until an operator ends them (R12).
    async fn judge_foreign(&self, client: &ControlClient) -> Judgement {
        match survey::open_of(client, &self.coordinator, self.log_id).await {
            Ok(branches) => judge_foreign(&branches),
            Err(why) => Judgement::warn(why, "start all brokers: what is open cannot be listed"),
        }
    }

    /// A listing counts only if it shows an id that was initialised just before (R8).
    async fn judge_listing(&self, client: &ControlClient) -> Judgement {
        const REMEDY: &str =
            "allow Write and Describe on the transactional ids with the prefix `gtc.`";
        let id = self.transactional_id.as_str();
        match initialise(client, id).await {
            Attempt::Answered(answer) if answer.code == 0 => {}
            Attempt::Answered(answer) => {
                return Judgement::fail(format!("initialising {id} was answered {answer}"), REMEDY);
            }
            Attempt::NoAnswer(error) | Attempt::NotSent(error) => {
                return Judgement::fail(error.problem(), REMEDY);
            }
        }
        let listing = client.list_transactions(id).await;
        let shows = listing
            .transactions
            .iter()
            .any(|listed| *listed.transactional_id == *id);
        match (shows, listing.complete) {
            (true, true) => Judgement::ok("a listing shows an id just initialised"),
            (true, false) => Judgement::fail(
                "not every broker answered the listing",
                "start all brokers: what cannot be listed is not presumed aborted",
            ),
            (false, _) => Judgement::fail(
                format!("{id} was initialised, and a listing hides it"),
                REMEDY,
            ),
        }
    }
}

/// Tries again while the coordinator of the id is on its way; nobody else uses it, so that a repeat
/// is harmless.
async fn initialise(client: &ControlClient, id: &str) -> Attempt<EndTxnAnswer> {
    const ON_ITS_WAY: [i16; 4] = [14, 15, 16, 51];
    let deadline = Instant::now() + PATIENCE;
    loop {
        let attempt = client.init_producer_id(id, PROBE_TIMEOUT_MS).await;
        match &attempt {
            Attempt::Answered(answer)
                if ON_ITS_WAY.contains(&answer.code) && Instant::now() < deadline =>
            {
                sleep(PAUSE).await;
            }
            _ => return attempt,
        }
    }
}

fn judge_connection(error: &ControlError) -> (&'static str, Judgement) {
    let check = match error.kind() {
        ControlErrorKind::Authentication => "authentication",
        _ => "reachable",
    };
    (check, Judgement::fail(error.problem(), error.remedy()))
}

fn judge_foreign(branches: &[OpenBranch]) -> Judgement {
    let foreign: Vec<&OpenBranch> = branches.iter().filter(|branch| branch.foreign).collect();
    if foreign.is_empty() {
        return Judgement::ok("no other log left anything open under this coordinator's id");
    }
    let described = foreign.iter().map(|branch| {
        let held = match branch.partitions.is_empty() {
            true => "no partition that the cluster names".to_owned(),
            false => branch.partitions.join(", "),
        };
        format!("{} holds back {held}", branch.transactional_id)
    });
    let commands = foreign.iter().map(|branch| {
        let OpenBranch {
            participant,
            transactional_id,
            ..
        } = branch;
        format!("`gtc resolve {participant}:{transactional_id} --commit|--abort`")
    });
    Judgement::fail(
        format!(
            "open branches of another log: {}",
            described.collect::<Vec<_>>().join("; ")
        ),
        format!(
            "decide each by the data of the other clusters: {}; see docs/operations.md on a lost log",
            commands.collect::<Vec<_>>().join(", ")
        ),
    )
}

async fn judge_features(client: &ControlClient) -> Judgement {
    match client.finalized_features().await {
        Ok(features) => judge_transaction_version(features.transaction_version()),
        Err(error) => Judgement::fail(error.problem(), "use brokers of Apache Kafka 3.0 or newer"),
    }
}

/// The settings of all brokers.
struct Settings(Vec<BTreeMap<String, String>>);

impl Settings {
    async fn read(client: &ControlClient, cluster: &Cluster) -> Result<Self, ControlError> {
        let mut all = Vec::new();
        for broker in &cluster.brokers {
            all.push(
                client
                    .describe_configs(&ConfigResource::Broker(broker.id))
                    .await?,
            );
        }
        Ok(Self(all))
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter_map(move |broker| broker.get(name))
            .map(String::as_str)
    }

    /// The least value among the brokers: any of them may be the one that counts.
    fn least(&self, name: &str) -> Option<i64> {
        self.values(name)
            .filter_map(|value| value.parse().ok())
            .min()
    }

    /// `bad` where one broker has it, else what one of them has.
    fn worst<'a>(&'a self, name: &'a str, bad: &str) -> Option<&'a str> {
        self.values(name)
            .find(|value| *value == bad)
            .or_else(|| self.values(name).next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_of_another_log_are_named_with_what_they_hold_back_and_how_to_end_them() {
        let branch = |foreign| OpenBranch {
            participant: "eu".to_owned(),
            transactional_id: "gtc.orders.7.1.eu.1".to_owned(),
            state: "Ongoing".to_owned(),
            foreign,
            since_unix_ms: None,
            partitions: vec!["orders-0".to_owned(), "__consumer_offsets-3".to_owned()],
        };
        assert_eq!(judge_foreign(&[branch(false)]).level, Level::Ok);
        let found = judge_foreign(&[branch(false), branch(true)]);
        assert_eq!(found.level, Level::Fail);
        assert!(
            found.detail.contains("orders-0, __consumer_offsets-3"),
            "{found:?}"
        );
        let remedy = found.remedy.expect("one");
        assert!(
            remedy.contains("`gtc resolve eu:gtc.orders.7.1.eu.1 --commit|--abort`"),
            "{remedy}"
        );
    }

    #[test]
    fn participants_that_are_one_cluster_are_named_to_each_other() {
        let checked = |participant: &str, id: Option<&str>| Checked {
            participant: participant.to_owned(),
            cluster_id: id.map(str::to_owned),
            findings: Vec::new(),
        };
        let all = [
            checked("a", Some("X")),
            checked("b", Some("X")),
            checked("c", Some("Y")),
            checked("d", None),
        ];
        let judged = judge_distinct(&all);
        let levels: Vec<_> = judged
            .iter()
            .map(|(index, judgement)| (*index, judgement.level))
            .collect();
        assert_eq!(levels, [(0, Level::Fail), (1, Level::Fail), (2, Level::Ok)]);
        assert!(judged[0].1.detail.contains("`b` (X)"), "{judged:?}");
        assert!(judged[1].1.detail.contains("`a` (X)"), "{judged:?}");
    }

    #[test]
    fn one_broker_that_differs_decides() {
        let broker = |ceiling: &str, unclean: &str| {
            BTreeMap::from([
                ("transaction.max.timeout.ms".to_owned(), ceiling.to_owned()),
                (
                    "unclean.leader.election.enable".to_owned(),
                    unclean.to_owned(),
                ),
            ])
        };
        let settings = Settings(vec![broker("9000", "false"), broker("1000", "true")]);
        assert_eq!(settings.least("transaction.max.timeout.ms"), Some(1000));
        assert_eq!(
            settings.worst("unclean.leader.election.enable", "true"),
            Some("true")
        );
        assert_eq!(settings.least("absent"), None);
    }
}
