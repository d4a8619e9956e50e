//! One replication of a mesh, with its kills.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Stage;
use crate::error::{Error, Result};
use crate::fleet::Coordinator;
use crate::plan::Plan;
use crate::program::{Program, Watched};

/// How long the program may take to come to the point where it is to be killed.
const AIM_PATIENCE: Duration = Duration::from_secs(180);

/// How long it may take to end after SIGTERM.
const END_PATIENCE: Duration = Duration::from_secs(60);

/// From one cluster to another.
pub(super) struct Replication {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) topic: &'static str,
    pub(super) coordinator: Coordinator,
    pub(super) plan: Plan,
}

impl Replication {
    /// Runs through all its kills, then on until the run is over, and ends in order.
    pub(super) fn run(mut self, stage: &Stage<'_>) -> Result<(String, Plan)> {
        let name = format!("{} -> {}", self.from, self.to);
        let program = self.program();
        let most = self.plan.wanted() * 4 + 4;
        while let Some(aim) = self.plan.next_aim() {
            if stage.is_over() || self.plan.total() >= most {
                break;
            }
            let mut life = program.start()?;
            let watched = life.watch(aim, AIM_PATIENCE)?;
            let tail = life.tail();
            match life.kill()? {
                Some(window) if watched == Watched::Reached => {
                    self.plan.record(window);
                    (stage.say)(&format!(
                        "kill -9 {} of {name}: {window}",
                        self.plan.total()
                    ));
                }
                _ => return Err(Error::new(format!("{name} ended by itself:\n{tail}"))),
            }
        }
        let mut life = program.start()?;
        stage.calm.fetch_add(1, Ordering::SeqCst);
        while !stage.is_over() {
            life.run_on(Duration::from_millis(200))?;
        }
        life.terminate()?;
        let status = life.finish(END_PATIENCE)?;
        if !status.success() {
            return Err(Error::new(format!(
                "{name}: after SIGTERM it ended with {status}"
            )));
        }
        self.coordinator.expect_nothing_listed()?;
        Ok((name, self.plan))
    }

    fn program(&self) -> Program {
        let arguments = [
            "replicate",
            "--from",
            self.from,
            "--to",
            self.to,
            "--topic",
            self.topic,
        ];
        let batches = ["--batch-records", "50", "--linger-ms", "20"];
        let all: Vec<String> = arguments
            .iter()
            .chain(&batches)
            .map(ToString::to_string)
            .collect();
        self.coordinator.program(&all)
    }
}
