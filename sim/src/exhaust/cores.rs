//! Coordinators, in parts that are kept once each: among many of them there are few different ones of each kind.

use gtc_core::{Coordinator, Part};

use super::intern::Interner;

/// All coordinators that were seen.
#[derive(Default)]
pub struct Cores {
    parts: Interner<Part>,
    wholes: Interner<Box<[u32]>>,
}

impl Cores {
    /// The number of this coordinator.
    pub fn number(&mut self, core: Coordinator) -> u32 {
        let parts = core.into_parts().into_iter();
        let whole: Box<[u32]> = parts.map(|part| self.parts.number(part.into())).collect();
        self.wholes.number(whole.into())
    }

    /// The coordinator of this number.
    pub fn value(&self, number: u32) -> Coordinator {
        let parts = self.wholes.value(number).iter();
        let parts = parts.map(|part| Part::clone(self.parts.value(*part)));
        Coordinator::from_parts(parts).expect("they are those of one")
    }

    /// How many were seen.
    pub fn len(&self) -> usize {
        self.wholes.len()
    }
}
