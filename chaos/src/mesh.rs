//! Active-active: clusters that are written to on every side, and replications between them that are killed.

mod data;
mod link;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gtc_clusters::Security;

use crate::acl;
use crate::check::{Evidence, Link, Report, group_offsets, judge, read_cluster};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Place};
use crate::journal::Journal;
use crate::kafka::Connection;
use crate::plan::Plan;

const TOPIC: &str = "mesh";
const PARTITIONS: i32 = 3;

/// How long the clusters may take to become equal after the last kill and the last record.
const CONVERGENCE: Duration = Duration::from_secs(120);

/// Equal clusters are watched for so long: a loop would show as growth.
const LOOP_WATCH: Duration = Duration::from_secs(3);

/// How long an open transaction may hold readers back before that is an anomaly.
const SETTLE: Duration = Duration::from_secs(5);

/// The shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two clusters, each copied to the other.
    Pair,
    /// Three clusters, each copied to the next.
    Ring,
}

impl Shape {
    fn clusters(self) -> &'static [&'static str] {
        match self {
            Self::Pair => &["a", "b"],
            Self::Ring => &["a", "b", "c"],
        }
    }

    fn links(self) -> Vec<(&'static str, &'static str)> {
        let names = self.clusters();
        let next = names.iter().cycle().skip(1);
        names.iter().copied().zip(next.copied()).collect()
    }
}

/// What to do.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// Where.
    pub place: Place,
    /// Between which clusters.
    pub shape: Shape,
    /// Plain clusters, or TLS with SASL and no more rights than the documentation lists.
    pub security: Security,
    /// The seed of the kills and of the data.
    pub seed: u64,
    /// How many kills, over all replications.
    pub kills: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Where the kills fell, for each replication.
    pub plans: Vec<(String, Plan)>,
    /// How many records were written at each origin.
    pub written: Vec<(String, usize)>,
    /// What the checker found.
    pub report: Report,
}

impl Outcome {
    /// Whether nothing is wrong and the kills fell where they were to fall.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.report.is_clean() && self.plans.iter().all(|(_, plan)| plan.is_fulfilled())
    }
}

/// What the threads of a run share.
struct Stage<'a> {
    say: &'a (dyn Fn(&str) + Sync),
    /// Replications that have all their kills behind them.
    calm: AtomicU32,
    /// Writers are to stop.
    written: AtomicBool,
    /// Everybody is to end.
    over: AtomicBool,
    /// The first failure of a thread.
    failure: Mutex<Option<Error>>,
}

impl Stage<'_> {
    /// Takes the result of a thread; a failure ends the run.
    fn settle<T>(&self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
                self.end();
                None
            }
        }
    }

    fn end(&self) {
        self.written.store(true, Ordering::SeqCst);
        self.over.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn take_failure(&self) -> Result<()> {
        let failure = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        failure.map_or(Ok(()), Err)
    }
}

impl Mesh {
    /// Runs it; `say` takes lines about its progress.
    ///
    /// # Errors
    /// It could not be carried out to its end.
    pub fn run(&self, say: &(dyn Fn(&str) + Sync)) -> Result<Outcome> {
        self.place.prepare()?;
        say(&format!(
            "starting clusters {:?}, {:?}",
            self.shape.clusters(),
            self.security
        ));
        let fleet = Fleet::start(self.shape.clusters(), self.security)?;
        if self.security == Security::Secure {
            fleet.allow(&acl::documented(TOPIC, "mesh-")?)?;
        }
        let connections = fleet.connections();
        for connection in &connections {
            connection.create_topic(TOPIC, PARTITIONS)?;
        }
        let links = self.links(&fleet)?;
        let stage = Stage {
            say,
            calm: AtomicU32::new(0),
            written: AtomicBool::new(false),
            over: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        let (journals, plans) = self.play(&stage, &connections, links);
        stage.take_failure()?;
        let report = self.check(&connections, &journals)?;
        let written = journals
            .iter()
            .map(|journal| (journal.origin.clone(), journal.len()))
            .collect();
        Ok(Outcome {
            plans,
            written,
            report,
        })
    }

    fn links(&self, fleet: &Fleet) -> Result<Vec<link::Replication>> {
        let links = self.shape.links();
        let count = u32::try_from(links.len()).unwrap_or(u32::MAX);
        (0..)
            .zip(links)
            .map(|(at, (from, to))| {
                let id = format!("mesh-{from}-{to}");
                let coordinator = fleet.coordinator_over(&self.place, &id, &[from, to])?;
                // The kills are dealt out like cards.
                let kills = self.kills / count + u32::from(at < self.kills % count);
                let plan = Plan::new(self.seed.wrapping_add(u64::from(at)), kills);
                Ok(link::Replication {
                    from,
                    to,
                    topic: TOPIC,
                    coordinator,
                    plan,
                })
            })
            .collect()
    }

    /// Writers and replications run at once, and the last kill ends the writing.
    fn play(
        &self,
        stage: &Stage<'_>,
        connections: &[Connection],
        links: Vec<link::Replication>,
    ) -> (Vec<Journal>, Vec<(String, Plan)>) {
        let wanted = u32::try_from(links.len()).unwrap_or(u32::MAX);
        std::thread::scope(|scope| {
            let writers: Vec<_> = connections
                .iter()
                .map(|connection| {
                    let writer = data::Writer {
                        connection,
                        topic: TOPIC,
                        partitions: PARTITIONS,
                    };
                    scope.spawn(move || stage.settle(writer.run(&stage.written)))
                })
                .collect();
            let links: Vec<_> = links
                .into_iter()
                .map(|link| scope.spawn(move || stage.settle(link.run(stage))))
                .collect();
            while stage.calm.load(Ordering::SeqCst) < wanted && !stage.is_over() {
                std::thread::sleep(Duration::from_millis(50));
            }
            stage.written.store(true, Ordering::SeqCst);
            let journals: Vec<_> = writers
                .into_iter()
                .filter_map(|it| it.join().ok().flatten())
                .collect();
            stage.settle(self.converge(stage, connections, &journals));
            stage.end();
            let plans = links
                .into_iter()
                .filter_map(|link| link.join().ok().flatten())
                .collect();
            (journals, plans)
        })
    }

    /// Waits until all clusters hold all records, and then for a loop to show itself.
    fn converge(
        &self,
        stage: &Stage<'_>,
        connections: &[Connection],
        journals: &[Journal],
    ) -> Result<()> {
        (stage.say)("no more kills, no more writes: waiting until the clusters are equal");
        let deadline = Instant::now() + CONVERGENCE;
        while !stage.is_over() && Instant::now() < deadline {
            if self.check(connections, journals)?.is_clean() {
                std::thread::sleep(LOOP_WATCH);
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }

    fn check(&self, connections: &[Connection], journals: &[Journal]) -> Result<Report> {
        let read = |connection| read_cluster(connection, TOPIC, SETTLE);
        let link = |(from, to): (&str, &str)| {
            let group = format!("gtc-mesh-{from}-{to}");
            let source = connections
                .iter()
                .find(|connection| connection.name == from);
            let source = source.ok_or_else(|| Error::new(format!("there is no cluster {from}")))?;
            let offsets = group_offsets(source, TOPIC, &group)?;
            Ok(Link {
                from: from.into(),
                to: to.into(),
                group,
                offsets,
            })
        };
        Ok(judge(&Evidence {
            journals: journals.to_vec(),
            views: connections.iter().map(read).collect::<Result<_>>()?,
            links: self
                .shape
                .links()
                .into_iter()
                .map(link)
                .collect::<Result<_>>()?,
        }))
    }
}
