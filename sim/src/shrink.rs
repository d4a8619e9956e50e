//! A failing history made short: kinds of faults and steps are left out while it still violates the same
//! invariant.

use crate::plan::Plan;
use crate::run::{Options, run_plan};
use crate::swarm::Fault;

/// Histories that are tried at most.
const ATTEMPTS: usize = 4000;

/// The shortest history found that violates this invariant like the one planned.
pub fn shrink(plan: &Plan, options: Options, steps: u64, invariant: &'static str) -> Plan {
    let mut search = Search {
        options,
        invariant,
        attempts: 0,
        best: Plan {
            kept: Some(plan.steps(steps)),
            ..plan.clone()
        },
    };
    loop {
        let before = search.best.clone();
        search.drop_steps();
        search.mute_faults();
        if search.best == before || search.attempts >= ATTEMPTS {
            return search.best;
        }
    }
}

struct Search {
    options: Options,
    invariant: &'static str,
    attempts: usize,
    best: Plan,
}

impl Search {
    /// Takes the plan if it fails in the same way.
    fn attempt(&mut self, plan: Plan) -> bool {
        if self.attempts >= ATTEMPTS {
            return false;
        }
        self.attempts += 1;
        let report = run_plan(&plan, self.options);
        let same = report
            .result
            .is_err_and(|found| found.invariant == self.invariant);
        if same {
            self.best = plan;
        }
        same
    }

    fn mute_faults(&mut self) {
        for fault in Fault::ALL {
            let mut plan = self.best.clone();
            plan.muted |= 1 << *fault as u64;
            if plan != self.best {
                self.attempt(plan);
            }
        }
    }

    /// Leaves out ever smaller runs of steps.
    fn drop_steps(&mut self) {
        let mut length = self.kept().len().div_ceil(2);
        while length > 0 {
            let mut at = 0;
            while at < self.kept().len() {
                let mut kept = self.kept().to_vec();
                kept.drain(at..(at + length).min(kept.len()));
                let plan = Plan {
                    kept: Some(kept),
                    ..self.best.clone()
                };
                if !self.attempt(plan) {
                    at += length;
                }
            }
            length /= 2;
        }
    }

    fn kept(&self) -> &[u64] {
        self.best.kept.as_deref().unwrap_or_default()
    }
}
