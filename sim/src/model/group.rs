//! A consumer group's committed offset, and the offsets that open transactions hold pending.

use std::collections::BTreeMap;

use super::call::{Tag, code};

/// The offsets of one group on one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group {
    /// Raised by every rebalance.
    generation: i32,
    /// It has been heard of.
    exists: bool,
    has_members: bool,
    committed: u64,
    pending: BTreeMap<i64, (u64, Tag)>,
}

impl Group {
    /// TxnOffsetCommit: the generation is checked now, and not when the transaction ends; -1 is of a
    /// consumer that no group manages.
    pub fn pend(
        &mut self,
        producer_id: i64,
        generation: i32,
        (offset, tag): (u64, Tag),
    ) -> Result<(), i16> {
        if generation >= 0 {
            self.validate(generation)?;
        }
        self.exists = true;
        self.pending.insert(producer_id, (offset, tag));
        Ok(())
    }

    fn validate(&self, generation: i32) -> Result<(), i16> {
        if self.exists && !self.has_members {
            return Err(code::UNKNOWN_MEMBER_ID);
        }
        let current = self.exists && generation == self.generation;
        current.then_some(()).ok_or(code::ILLEGAL_GENERATION)
    }

    /// A consumer joins, or the group rebalances: the generation to send offsets with from now on.
    pub fn rebalance(&mut self) -> i32 {
        self.exists = true;
        self.has_members = true;
        self.generation += 1;
        self.generation
    }

    /// The marker of a transaction reached the group's coordinator.
    pub fn end(&mut self, producer_id: i64, committed: bool) {
        if let Some((offset, _)) = self.pending.remove(&producer_id)
            && committed
        {
            self.committed = offset;
        }
    }

    /// OffsetFetch that requires stable offsets: nothing (88) while a transaction holds one pending.
    pub fn fetch_stable(&self) -> Option<u64> {
        self.pending.is_empty().then_some(self.committed)
    }

    /// The offset that is committed, whatever is pending.
    pub fn committed(&self) -> u64 {
        self.committed
    }
}
