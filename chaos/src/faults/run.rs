//! The run: faults, then healing, then everything must end; then the audit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::act::{Actor, await_time};
use super::disk::SmallDisk;
use super::field::{Field, small_disk};
use super::notes::Notes;
use super::schedule::{Planned, schedule};
use super::shape::{Shape, log_directory};
use super::tally::Tally;
use super::worker::Worker;
use crate::audit::{self, NOTES, Verdict};
use crate::error::{Context, Error, Result};

/// How long the workers go on after the last fault, so that what it broke is met by new work.
const PEACE: Duration = Duration::from_secs(8);
/// How long a worker may take to end in order.
const END_PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to end what others left open.
const FINISH_PATIENCE: Duration = Duration::from_secs(200);
const SAY_EVERY: Duration = Duration::from_secs(15);

/// What to run.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The program of a worker.
    pub worker: PathBuf,
    /// For configurations, logs, journals and notes; made anew.
    pub directory: PathBuf,
    /// The seed of shape, schedule and work.
    pub seed: u64,
    /// How long faults are made.
    pub length: Duration,
}

/// How it went.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// What the run consisted of.
    pub shape: Shape,
    /// How long faults were made, in seconds.
    pub seconds: u64,
    /// Faults by name.
    pub faults: BTreeMap<String, usize>,
    /// Processes that got SIGKILL.
    pub kills: usize,
    /// Transactions a second, over the time of the faults.
    pub rate: f64,
    /// The table of faults.
    #[serde(skip)]
    pub fault_table: String,
    /// What the auditor says.
    pub verdict: Verdict,
}

impl Faults {
    /// The schedule of this run, without running it.
    #[must_use]
    pub fn schedule(&self, shape: &Shape) -> Vec<Planned> {
        schedule(self.seed, self.length, &shape.targets())
    }

    /// Runs it; `say` takes lines about its progress.
    ///
    /// # Errors
    /// It could not be carried out to its end.
    pub fn run(&self, say: &dyn Fn(&str)) -> Result<Outcome> {
        let disk = self.prepare()?;
        if disk.is_none() {
            say("skipped: no full disk, as no file system can be mounted here (only root can)");
        }
        let shape = Shape::new(self.seed, disk.is_some());
        say(&shape.to_text());
        let program = (self.directory.as_path(), self.worker.as_path());
        let field = Field::start(program, (&shape, self.seed), disk)?;
        let notes = Notes::create(&self.directory.join(NOTES))?;
        let planned = self.schedule(&shape);
        say(&format!(
            "clusters are up; {} faults are planned",
            planned.len()
        ));
        let mut tally = Tally::of(field.journals.iter().cloned());
        self.play((&field, &notes), &planned, &mut tally, say)?;
        self.finish(&field, &notes, say)?;
        say("everything has ended; the auditor reads");
        let evidence = audit::evidence(&self.directory, &field.connections())?;
        let kills = notes.begun("kill-worker") + notes.begun("kill-broker");
        Ok(Outcome {
            seed: self.seed,
            shape,
            seconds: self.length.as_secs(),
            faults: notes.counts(),
            kills,
            rate: tally.begun() as f64 / self.length.as_secs_f64().max(1.0),
            fault_table: notes.to_text(),
            verdict: audit::judge(&evidence),
        })
    }

    /// Makes the directory anew.
    fn prepare(&self) -> Result<Option<SmallDisk>> {
        let doing = format!("make {} anew", self.directory.display());
        for number in 1..=4 {
            SmallDisk::clear(&log_directory(&self.directory, &format!("w{number}")));
        }
        if self.directory.exists() {
            std::fs::remove_dir_all(&self.directory).context(&doing)?;
        }
        std::fs::create_dir_all(&self.directory).context(doing)?;
        small_disk(&self.directory, self.seed)
    }

    fn play(
        &self,
        (field, notes): (&Field, &Notes),
        planned: &[Planned],
        tally: &mut Tally,
        say: &dyn Fn(&str),
    ) -> Result<()> {
        let actor = Actor::new(field, notes);
        let begin = Instant::now();
        let mut next = begin + SAY_EVERY;
        let mut look = || {
            if Instant::now() >= next {
                next += SAY_EVERY;
                tally.update();
                let rate = tally.begun() as f64 / begin.elapsed().as_secs_f64();
                let (told, kills) = (tally.to_text(), kills(notes));
                say(&format!("{told}; {rate:.1} tx/s; {kills}"));
            }
            Ok(())
        };
        let played = std::thread::scope(|scope| {
            let supervisors: Vec<_> = field
                .workers
                .values()
                .map(|worker| scope.spawn(|| worker.supervise(notes)))
                .collect();
            let played = actor
                .play(scope, planned, &mut look)
                .and_then(|()| await_time(begin + self.length, &mut look))
                .and_then(|()| actor.heal())
                .and_then(|()| await_time(Instant::now() + PEACE, &mut look));
            await_brokers(field, &mut look)?;
            end(field, notes);
            for supervisor in supervisors {
                supervisor
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            played
        });
        tally.update();
        say(&format!("ended: {}; {}", tally.to_text(), kills(notes)));
        let mut errors = actor.errors.into_inner().unwrap_or_else(|e| e.into_inner());
        played.and_then(|()| errors.pop().map_or(Ok(()), Err))
    }

    /// Each worker once more, to end what its earlier lives left open.
    fn finish(&self, field: &Field, notes: &Notes, say: &dyn Fn(&str)) -> Result<()> {
        let finish = |worker: &Worker| worker.finish(FINISH_PATIENCE);
        let failed: Vec<Error> = std::thread::scope(|scope| {
            let all = field.workers.values();
            let all: Vec<_> = all.map(|worker| scope.spawn(|| finish(worker))).collect();
            let joined = all.into_iter().map(|one| {
                one.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.filter_map(Result::err).collect()
        });
        // The journal lacks its last line then, which the auditor tells as left in doubt.
        for error in failed {
            notes.add("crashed", "finish", &error.to_string());
            say(&error.to_string());
        }
        Ok(())
    }
}

/// Waits until no broker is being restarted: the end of the workers needs all.
fn await_brokers(field: &Field, look: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(150);
    for site in field.sites.values() {
        while !site.take() {
            if Instant::now() > deadline {
                return Err(Error::new(format!(
                    "{} does not come up",
                    site.cluster.name()
                )));
            }
            await_time(Instant::now() + Duration::from_millis(200), look)?;
        }
        site.give_back();
    }
    Ok(())
}

fn end(field: &Field, notes: &Notes) {
    std::thread::scope(|scope| {
        for worker in field.workers.values() {
            scope.spawn(|| worker.end(END_PATIENCE, notes));
        }
    });
}

fn kills(notes: &Notes) -> String {
    let (workers, brokers) = (notes.begun("kill-worker"), notes.begun("kill-broker"));
    format!("kill -9 of {workers} workers and {brokers} brokers")
}
