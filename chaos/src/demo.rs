//! The demo: flights fan out to two clusters, all or none, while gtc and a broker are killed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gtc_clusters::Security;

use crate::check::{Evidence, Link, Report, group_offsets, judge, read_cluster};
use crate::error::{Error, Result};
use crate::fleet::{Coordinator, Fleet, Place};
use crate::flights;
use crate::journal::Journal;
use crate::load::Loader;
use crate::phase::Window;
use crate::plan::{Aim, Plan};
use crate::program::{Life, Watched};

const TOPIC: &str = "flights";
const SOURCE: &str = "us";
const DESTINATIONS: [&str; 2] = ["eu", "ap"];
const COORDINATOR: &str = "demo";

/// So many batches the flights are cut into, so that work is left for every kill.
const BATCHES: usize = 400;

/// The batches of the last life.
const LAST_BATCH: usize = 2_000;

/// How often the last life's progress is told.
const PROGRESS: Duration = Duration::from_secs(2);

/// How long the program may take to come to the point where it is to be killed.
const AIM_PATIENCE: Duration = Duration::from_secs(180);

/// How long the last life may take to bring everything over.
const END_PATIENCE: Duration = Duration::from_secs(600);

/// How long an open transaction may hold readers back before that is an anomaly.
const SETTLE: Duration = Duration::from_secs(20);

/// What to do.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Where.
    pub place: Place,
    /// A file of flights; the shipped part if there is none.
    pub input: Option<PathBuf>,
    /// The seed of the kills.
    pub seed: u64,
    /// How many kills of gtc.
    pub kills: u32,
    /// The partitions of the topic.
    pub partitions: i32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Where the kills fell.
    pub plan: Plan,
    /// What the checker found.
    pub report: Report,
}

impl Outcome {
    /// Whether nothing is wrong and the kills fell where they were to fall.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.plan.is_fulfilled() && self.report.is_clean()
    }
}

/// A demo under way.
struct Run<'a> {
    demo: &'a Demo,
    fleet: Fleet,
    coordinator: Coordinator,
    plan: Plan,
    broker_killed: bool,
    say: &'a dyn Fn(&str),
}

impl Demo {
    /// Runs it; `say` takes lines about its progress.
    ///
    /// # Errors
    /// It could not be carried out to its end.
    pub fn run(&self, say: &dyn Fn(&str)) -> Result<Outcome> {
        self.place.prepare()?;
        say("starting three clusters: us, eu, ap");
        let fleet = Fleet::start(&[SOURCE, DESTINATIONS[0], DESTINATIONS[1]], Security::Plain)?;
        let journal = self.load(&fleet, say)?;
        let coordinator = fleet.coordinator(&self.place, COORDINATOR)?;
        let plan = Plan::new(self.seed, self.kills);
        let mut run = Run {
            demo: self,
            fleet,
            coordinator,
            plan,
            broker_killed: false,
            say,
        };
        run.kill_all(journal.len())?;
        run.finish()?;
        let report = run.check(journal)?;
        Ok(Outcome {
            plan: run.plan,
            report,
        })
    }

    fn load(&self, fleet: &Fleet, say: &dyn Fn(&str)) -> Result<Journal> {
        let records = flights::records(self.input.as_deref(), SOURCE, self.partitions)?;
        let source = &fleet.connections()[0];
        source.create_topic(TOPIC, self.partitions)?;
        let mut journal = Journal::new(SOURCE);
        Loader::idempotent(source, TOPIC)?.load(&records, &mut journal)?;
        journal.save(&self.place.file("us.journal"))?;
        say(&format!(
            "{} flights written to us, {} partitions",
            journal.len(),
            self.partitions
        ));
        Ok(journal)
    }
}

impl Run<'_> {
    fn kill_all(&mut self, records: usize) -> Result<()> {
        let program = self
            .coordinator
            .program(&arguments((records / BATCHES).max(1)));
        // A kill that misses its window is one more kill; but a program that never comes there is a failed run.
        let most = self.demo.kills * 3 + 6;
        while let Some(aim) = self.plan.next_aim() {
            if self.plan.total() >= most {
                break;
            }
            let mut life = program.start()?;
            let due = !self.broker_killed && self.plan.total() * 2 >= self.demo.kills;
            if due && aim.is_of_any_time() {
                self.kill_broker(&mut life)?;
            }
            let watched = life.watch(aim, AIM_PATIENCE)?;
            let (committed, tail) = (life.tracker().completed(), life.tail());
            match life.kill()? {
                Some(window) if watched == Watched::Reached => {
                    self.plan.record(window);
                    self.say_kill(aim, window, committed);
                }
                _ => return Err(self.ended_early(&tail)),
            }
        }
        Ok(())
    }

    /// The broker goes where a decision waits for it, and gtc has to bring the commit to its end.
    fn kill_broker(&mut self, life: &mut Life) -> Result<()> {
        let at = Aim::Window {
            window: Window::Decided,
            nth: 1,
            jitter: Duration::ZERO,
        };
        if life.watch(at, AIM_PATIENCE)? == Watched::Ended {
            return Err(self.ended_early(&life.tail()));
        }
        let victim = DESTINATIONS[0];
        let cluster = self.fleet.cluster(victim)?;
        cluster.kill();
        let begin = Instant::now();
        cluster.restart()?;
        self.broker_killed = true;
        let seconds = begin.elapsed().as_secs_f32();
        (self.say)(&format!(
            "kill -9 of the broker of {victim}; it is back after {seconds:.1} s"
        ));
        Ok(())
    }

    fn say_kill(&self, aim: Aim, window: Window, committed: u64) {
        let aimed = match aim {
            Aim::Window { window, .. } => format!("aimed at {window}"),
            Aim::After(delay) => format!("{} ms after its start", delay.as_millis()),
        };
        let number = self.plan.total();
        (self.say)(&format!(
            "kill -9 {number} of gtc: {window} ({aimed}; {committed} commits in this life)"
        ));
    }

    fn ended_early(&self, tail: &str) -> Error {
        Error::new(format!(
            "gtc ended by itself after {} kills, with more to come: too few records, or it failed; see {}, which ends:\n{tail}",
            self.plan.total(),
            self.demo.place.directory.display()
        ))
    }

    /// The last life runs to the end, and nothing may be left open.
    fn finish(&self) -> Result<()> {
        (self.say)("no more kills: gtc runs to the end");
        let mut life = self.coordinator.program(&arguments(LAST_BATCH)).start()?;
        let begin = Instant::now();
        while life.watch(Aim::After(begin.elapsed() + PROGRESS), END_PATIENCE)? == Watched::Reached
        {
            if begin.elapsed() > END_PATIENCE {
                return Err(Error::new(format!(
                    "gtc does not come to the end:\n{}",
                    life.tail()
                )));
            }
            (self.say)(&format!(
                "{} commits in the last life",
                life.tracker().completed()
            ));
        }
        let (commits, tail) = (life.tracker().completed(), life.tail());
        let status = life.finish(END_PATIENCE)?;
        if !status.success() {
            return Err(Error::new(format!(
                "the last life of gtc ended with {status}:\n{tail}"
            )));
        }
        self.coordinator.expect_nothing_listed()?;
        (self.say)(&format!(
            "gtc came to the end with {commits} more commits, and lists nothing"
        ));
        Ok(())
    }

    fn check(&self, journal: Journal) -> Result<Report> {
        (self.say)("checking with read_committed consumers");
        let connections = self.fleet.connections();
        let read = |connection| read_cluster(connection, TOPIC, SETTLE);
        let group = format!("gtc-{COORDINATOR}");
        let offsets = group_offsets(&connections[0], TOPIC, &group)?;
        let link = |to: &str| Link {
            from: SOURCE.into(),
            to: to.into(),
            group: group.clone(),
            offsets: offsets.clone(),
        };
        Ok(judge(&Evidence {
            journals: vec![journal],
            views: connections.iter().map(read).collect::<Result<_>>()?,
            links: DESTINATIONS.map(link).into(),
        }))
    }
}

fn arguments(batch_records: usize) -> Vec<String> {
    let mut arguments: Vec<String> = vec!["replicate".into(), "--from".into(), SOURCE.into()];
    for destination in DESTINATIONS {
        arguments.extend(["--to".into(), destination.into()]);
    }
    arguments.extend(["--topic".into(), TOPIC.into(), "--until-end".into()]);
    arguments.extend(["--batch-records".into(), batch_records.to_string()]);
    arguments
}
