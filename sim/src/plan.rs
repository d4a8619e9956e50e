//! Which history to run: a seed, and what of it to leave out.

use std::fmt;

use crate::swarm::Fault;

/// A history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Gives every choice.
    pub seed: u64,
    /// The steps that are taken; all if not said.
    pub kept: Option<Vec<u64>>,
    /// The kinds of faults that are left out, as bits.
    pub muted: u64,
}

impl Plan {
    /// The whole history of a seed.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            kept: None,
            muted: 0,
        }
    }

    /// The steps to take, of so many.
    pub fn steps(&self, all: u64) -> Vec<u64> {
        self.kept.clone().unwrap_or_else(|| (0..all).collect())
    }

    /// The kinds of faults that are left out.
    pub fn muted(&self) -> impl Iterator<Item = Fault> {
        let faults = Fault::ALL.iter().copied();
        faults.filter(|fault| self.muted & (1 << *fault as u64) != 0)
    }
}

/// The command line that repeats it.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cargo xtask sim --seed {}", self.seed)?;
        let joined = |parts: Vec<String>| parts.join(",");
        if let Some(kept) = &self.kept {
            let steps = kept.iter().map(u64::to_string).collect();
            write!(f, " --keep {}", joined(steps))?;
        }
        if self.muted != 0 {
            let names = self.muted().map(|fault| fault.name().to_string()).collect();
            write!(f, " --mute {}", joined(names))?;
        }
        Ok(())
    }
}
