//! One row: lives that are killed, then one in which everything has to be in order.

use std::time::Duration;

use gtc::{Coordinator, KnownOutcome};

use crate::child::{self, Orders};
use crate::job::{App, Job, Mode, ROUNDS, Result};
use crate::own::{Ask, OwnWriter};
use crate::place::Shown;

/// How long the last life may take; far below any transaction time-out.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often a row is tried. A life may pass its point or not, as records gather in one write of the
/// log or in two.
const ATTEMPTS: u32 = 8;

/// A row of the matrix.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    /// The step that it is about.
    pub step: String,
    pub job: Job,
    /// The last one has the crash point that the row is about.
    pub lives: Vec<(Mode, Orders)>,
}

/// What a value has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Visible,
    Hidden,
    /// Nobody knows: it was committed in one phase.
    Either,
    /// On all members but the first, whose application broke its part.
    Mixed,
}

/// What is known of a row before its records are read.
#[derive(Debug)]
pub struct Ended {
    pub reached: bool,
    expected: Vec<(String, Expected)>,
}

impl Row {
    /// Runs it until its point is reached. What the attempts before wrote is there as well.
    pub async fn run(&self, ask: &Ask) -> Result<Ended> {
        let mut expected = Vec::new();
        for attempt in 0..ATTEMPTS {
            let row = Self {
                job: self.job.attempted(attempt),
                ..self.clone()
            };
            let ended = row.run_once(ask).await?;
            // Its log has 64 MB of reserved space; all rows together would fill a disk.
            let _ = std::fs::remove_dir_all(row.job.log.with_file_name(""));
            expected.extend(ended.expected);
            if ended.reached {
                return Ok(Ended {
                    reached: true,
                    expected,
                });
            }
        }
        Ok(Ended {
            reached: false,
            expected,
        })
    }

    async fn run_once(&self, ask: &Ask) -> Result<Ended> {
        let (mut told, mut reached) = (Vec::new(), true);
        for (index, (mode, orders)) in self.lives.iter().enumerate() {
            let job = Job {
                mode: *mode,
                ..self.job.clone()
            };
            let (orders, asking) = (orders.clone(), ask.clone());
            let lived = tokio::task::spawn_blocking(move || child::run(&job, &orders, &asking));
            let life = lived.await??;
            reached = life.killed;
            told.extend(life.told);
            if !reached && index + 1 < self.lives.len() {
                return Err("the crash before the recovery was not reached".into());
            }
            if index == 0 {
                self.job.break_promise(ask)?;
            }
        }
        let verified = tokio::time::timeout(PATIENCE, self.verify(&told, ask)).await;
        let expected = verified.map_err(|_| "the last life is stuck")??;
        Ok(Ended { reached, expected })
    }

    /// The last life: it recovers, tells what has become of the transactions, and commits one.
    async fn verify(&self, told: &[String], ask: &Ask) -> Result<Vec<(String, Expected)>> {
        let job = &self.job;
        let coordinator = job.open().await?;
        let mut expected = Vec::new();
        for value in (0..ROUNDS).map(|round| job.round_value(round)) {
            let mut expects = self.expect(&coordinator, &value)?;
            if told.contains(&value) {
                if expects == Expected::Hidden {
                    return Err(format!("{value} was told to be committed, and is not").into());
                }
                expects = Expected::Visible;
            }
            expected.push((value, expects));
        }
        job.forget_mixed(&coordinator).await?;
        let (open, foreign) = (coordinator.list(), coordinator.foreign());
        if !open.is_empty() || !foreign.is_empty() {
            return Err(format!("left after the recovery: {open:?}, {foreign:?}").into());
        }
        if job.own.is_some() {
            let name = &job.members[0].name;
            coordinator.settle(name, &job.own_id()).await?;
        }
        let mut app = App {
            own: OwnWriter::open(job, ask)?,
            tell: |_| {},
        };
        let job = Job {
            mode: Mode::Commit,
            ..job.clone()
        };
        let after = job.after_value();
        job.transact(&coordinator, &after, &mut app).await?;
        expected.push((after, Expected::Visible));
        coordinator.close().await?;
        Ok(expected)
    }

    fn expect(&self, coordinator: &Coordinator, value: &str) -> Result<Expected> {
        if !self.job.keyed {
            return Ok(Expected::Either);
        }
        match coordinator.outcome_by_key(value.as_bytes()) {
            Some((_, KnownOutcome::Committed)) => Ok(Expected::Visible),
            // Forgotten, it is known no more.
            Some((_, KnownOutcome::Mixed)) | None if self.is_mixed(value) => Ok(Expected::Mixed),
            None | Some((_, KnownOutcome::Aborted)) => Ok(Expected::Hidden),
            Some((id, other)) => Err(format!("the outcome of {id} is {other:?}").into()),
        }
    }

    fn is_mixed(&self, value: &str) -> bool {
        self.job.breaks && value == self.job.round_value(0)
    }
}

impl Ended {
    /// Compares with what a reader of the cluster with this index saw.
    pub fn agrees_with(&self, (index, shown): (usize, &Shown)) -> Result {
        if shown.stuck {
            return Err("its last stable offset is stuck".into());
        }
        let visible = |value: &String| shown.values.contains(value);
        let right: Vec<_> = self
            .expected
            .iter()
            .filter(|(value, expected)| match expected {
                Expected::Visible => true,
                Expected::Hidden => false,
                Expected::Either => visible(value),
                Expected::Mixed => index > 0,
            })
            .map(|(value, _)| value)
            .collect();
        if right.iter().copied().eq(&shown.values) {
            return Ok(());
        }
        Err(format!("it shows {:?}, expected {:?}", shown.values, self.expected).into())
    }
}
