//! Which fault hits whom, when and for how long: all of it follows from the seed.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::plan::Seeded;

/// What is done to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL to a worker, which is started again at the end.
    KillWorker,
    /// SIGSTOP to a worker, SIGCONT at the end.
    PauseWorker,
    /// SIGKILL to a broker, which is started again on the same data.
    KillBroker,
    /// A broker is ended in order and started again on the same data.
    RestartBroker,
    /// SIGSTOP to a broker, SIGCONT at the end.
    PauseBroker,
    /// All connections to a cluster are cut.
    Cut,
    /// All connections are cut, and new ones refused.
    Refuse,
    /// Everything to and from a cluster comes later.
    Delay(Duration),
    /// Nothing arrives at a cluster.
    HoleToBroker,
    /// No answer of a cluster arrives.
    HoleToClient,
    /// Nothing passes for longer than the time-out of transactions, so that promised branches expire.
    Expire,
    /// The disk of a worker's log is full.
    FillDisk,
}

impl Fault {
    /// Its name in notes and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KillWorker => "kill-worker",
            Self::PauseWorker => "pause-worker",
            Self::KillBroker => "kill-broker",
            Self::RestartBroker => "restart-broker",
            Self::PauseBroker => "pause-broker",
            Self::Cut => "cut",
            Self::Refuse => "refuse",
            Self::Delay(_) => "delay",
            Self::HoleToBroker => "hole-to-broker",
            Self::HoleToClient => "hole-to-client",
            Self::Expire => "expire",
            Self::FillDisk => "fill-disk",
        }
    }

    /// How long its target is left alone after its end.
    fn rest(self) -> Duration {
        Duration::from_millis(match self {
            Self::KillWorker | Self::PauseWorker => 1_500,
            // A broker takes a while to come back.
            Self::KillBroker | Self::RestartBroker => 25_000,
            Self::PauseBroker | Self::FillDisk => 10_000,
            _ => 2_000,
        })
    }
}

/// One fault of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When, from the beginning of the faults.
    pub at: Duration,
    /// What.
    pub fault: Fault,
    /// The worker or the cluster.
    pub target: String,
    /// How long.
    pub lasts: Duration,
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, lasts) = (self.at.as_secs_f32(), self.lasts.as_secs_f32());
        let (name, target) = (self.fault.name(), &self.target);
        write!(f, "{at:.1} s: {name} {target} for {lasts:.1} s")
    }
}

/// Whom faults can hit.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// The workers.
    pub workers: Vec<String>,
    /// The clusters.
    pub clusters: Vec<String>,
    /// Those whose brokers can be killed and restarted.
    pub mortal: Vec<String>,
    /// The cluster with a short time-out, and that time-out.
    pub short: Option<(String, Duration)>,
    /// The worker whose log has a small disk.
    pub disk: Option<String>,
}

/// Weights of a hundred; the rest are kills of workers.
const WEIGHTS: [(u64, Fault); 11] = [
    (7, Fault::PauseWorker),
    (7, Fault::KillBroker),
    (2, Fault::RestartBroker),
    (6, Fault::PauseBroker),
    (10, Fault::Cut),
    (3, Fault::Refuse),
    (4, Fault::Delay(Duration::ZERO)),
    (2, Fault::HoleToBroker),
    (2, Fault::HoleToClient),
    (2, Fault::Expire),
    (2, Fault::FillDisk),
];
/// The mean time from one fault to the next.
const GAP_MS: u64 = 3_000;

/// The faults of a run of this length; the same seed gives the same ones.
#[must_use]
pub fn schedule(seed: u64, length: Duration, targets: &Targets) -> Vec<Planned> {
    let mut seeded = Seeded::new(seed ^ 0x5eed_fa17);
    let mut busy: BTreeMap<String, Duration> = BTreeMap::new();
    let mut planned = Vec::new();
    let mut at = Duration::from_secs(5);
    loop {
        at += Duration::from_millis(200 + seeded.below(2 * (GAP_MS - 200)));
        if at >= length {
            return planned;
        }
        let next = choose(&mut seeded, at, targets);
        let Some(next) = next.filter(|next| next.at + next.lasts < length) else {
            continue;
        };
        let keys = keys(&next);
        if keys
            .iter()
            .any(|key| busy.get(key).is_some_and(|until| *until > at))
        {
            continue;
        }
        for key in keys {
            busy.insert(key, at + next.lasts + next.fault.rest());
        }
        planned.push(next);
    }
}

fn choose(seeded: &mut Seeded, at: Duration, targets: &Targets) -> Option<Planned> {
    let mut drawn = seeded.below(100);
    let mut fault = Fault::KillWorker;
    for (weight, candidate) in WEIGHTS {
        if drawn < weight {
            fault = candidate;
            break;
        }
        drawn -= weight;
    }
    let one = |seeded: &mut Seeded, names: &[String]| {
        let index = seeded.below(names.len().max(1) as u64);
        names.get(usize::try_from(index).unwrap_or(0)).cloned()
    };
    let target = match fault {
        Fault::KillWorker | Fault::PauseWorker => one(seeded, &targets.workers),
        Fault::KillBroker | Fault::RestartBroker => one(seeded, &targets.mortal),
        Fault::Expire => targets.short.as_ref().map(|(name, _)| name.clone()),
        Fault::FillDisk => targets.disk.clone(),
        _ => one(seeded, &targets.clusters),
    };
    let lasts = lasts(seeded, fault, targets);
    if let Fault::Delay(delay) = &mut fault {
        *delay = Duration::from_millis(10 + seeded.below(300));
    }
    Some(Planned {
        at,
        fault,
        target: target?,
        lasts,
    })
}

fn lasts(seeded: &mut Seeded, fault: Fault, targets: &Targets) -> Duration {
    let mut between = |from: u64, to: u64| from + seeded.below(to - from);
    let is_long = between(0, 8) == 0;
    Duration::from_millis(match fault {
        Fault::KillWorker if is_long => between(5_000, 20_000),
        Fault::KillWorker => between(0, 800),
        Fault::PauseWorker if is_long => between(15_000, 25_000),
        Fault::PauseWorker => between(300, 6_000),
        Fault::KillBroker | Fault::RestartBroker => between(0, 2_000),
        Fault::PauseBroker => between(500, 6_000),
        Fault::Cut => 0,
        Fault::Refuse => between(500, 4_000),
        Fault::Delay(_) => between(2_000, 8_000),
        Fault::HoleToBroker | Fault::HoleToClient => between(1_000, 9_000),
        Fault::Expire => {
            let short = targets
                .short
                .as_ref()
                .map_or(0, |(_, timeout)| timeout.as_millis());
            u64::try_from(short).unwrap_or(0) + between(4_000, 8_000)
        }
        Fault::FillDisk => between(20_000, 45_000),
    })
}

/// What must not be hit by two faults at once.
fn keys(planned: &Planned) -> Vec<String> {
    let target = planned.target.clone();
    let proxy = format!("{target}/proxy");
    match planned.fault {
        Fault::KillWorker | Fault::PauseWorker => vec![target],
        Fault::KillBroker | Fault::RestartBroker | Fault::PauseBroker => vec![target],
        // Only a broker that lives lets transactions expire in time.
        Fault::Expire => vec![target, proxy],
        Fault::FillDisk => vec!["disk".into()],
        _ => vec![proxy],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> Targets {
        let names = |all: &[&str]| all.iter().map(ToString::to_string).collect();
        Targets {
            workers: names(&["w1", "w2", "w3"]),
            clusters: names(&["a", "b"]),
            mortal: names(&["a"]),
            short: Some(("b".into(), Duration::from_secs(15))),
            disk: Some("w3".into()),
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_same_seed_gives_the_same_schedule_and_another_seed_another() {
        assert_eq!(schedule(7, HOUR, &targets()), schedule(7, HOUR, &targets()));
        assert_ne!(schedule(7, HOUR, &targets()), schedule(8, HOUR, &targets()));
    }

    #[test]
    fn an_hour_has_every_kind_of_fault_and_more_than_three_hundred_kills() {
        let planned = schedule(1, HOUR, &targets());
        let count = |fault: Fault| {
            planned
                .iter()
                .filter(|p| p.fault.name() == fault.name())
                .count()
        };
        for (_, fault) in WEIGHTS {
            assert!(count(fault) > 0, "{fault:?}");
        }
        assert!(count(Fault::KillWorker) + count(Fault::KillBroker) > 400);
    }

    #[test]
    fn no_target_is_hit_while_another_fault_lasts_and_all_end_in_time() {
        let planned = schedule(3, HOUR, &targets());
        for (index, first) in planned.iter().enumerate() {
            assert!(first.at + first.lasts < HOUR, "{first}");
            for second in &planned[index + 1..] {
                let shared = keys(first).iter().any(|key| keys(second).contains(key));
                assert!(
                    !shared || second.at >= first.at + first.lasts,
                    "{first}; {second}"
                );
            }
        }
    }

    #[test]
    fn without_a_short_time_out_nothing_expires_and_without_a_small_disk_none_is_filled() {
        let targets = Targets {
            short: None,
            disk: None,
            ..targets()
        };
        let planned = schedule(1, HOUR, &targets);
        let forbidden = |p: &&Planned| matches!(p.fault, Fault::Expire | Fault::FillDisk);
        assert_eq!(planned.iter().find(forbidden), None);
    }
}
