//! What an application did with one transaction, and what it was told.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::broker::Tag;

/// One transaction, as its application and the clusters know it.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The application asked to commit it.
    pub commit_asked: bool,
    /// It asked to abort it.
    pub abort_asked: bool,
    /// A write of it failed, and its writer knows.
    pub lost_write: bool,
    /// Broker transactions that hold delivered records of it.
    pub written: BTreeSet<Tag>,
    /// It needs a record: two branches, an own producer, or a key.
    pub recorded: bool,
    /// How often `Ended` came.
    pub ended: u32,
    /// What came with it.
    pub told: Option<Told>,
    /// A heuristic branch was reported.
    pub heuristic: bool,
    /// An operator said how it ended: nobody else knows.
    pub by_operator: bool,
    /// The coordinator that began it owns its log.
    pub live: bool,
    /// The coordinator that began it lives: its caller will hear how it ended.
    pub owed: bool,
    /// A decision was durable at some time.
    pub decided: bool,
    /// The coordinator that began it was paused, and has lost its log.
    pub paused: bool,
    /// Own producers that its log has held a record of, by cluster and name.
    pub recorded_own: BTreeSet<(usize, Arc<str>)>,
    /// A cluster has forgotten the transactional.id of a branch.
    pub forgotten: bool,
    /// Its application ended a branch by itself, without having been told.
    pub rash: bool,
    /// It did so by a v1 producer.
    pub rash_v1: bool,
    /// The branches that it ended like that.
    pub rash_own: BTreeSet<(usize, Arc<str>)>,
    /// What its application wrote by an own producer before that was enlisted, and was not taken in: no part of it.
    pub early: BTreeSet<Tag>,
    /// What its application gave up before any decision: it asked to settle the own producer that wrote it.
    pub given_up: BTreeSet<Tag>,
    /// Own producers that were enlisted in it, by cluster and name.
    pub own: BTreeSet<(usize, Arc<str>)>,
    /// Those of them that went on, were initialised by another instance, or were forgotten by their cluster, before the
    /// branch's end was durable: what the coordinator then sees under the name proves nothing of it.
    pub overtaken: BTreeSet<(usize, Arc<str>)>,
    /// Branches that were open under their own tags when they were described for the vote.
    pub seen_open: BTreeSet<Tag>,
    /// Branches that were acknowledged long before their transactional ids were forgotten.
    pub acknowledged: BTreeSet<Tag>,
    /// A stranger, or its application without a question, initialised the transactional.id of a branch.
    pub disturbed: bool,
    /// What became of these is lost: their cluster was restored from a backup after they had ended.
    pub excused: BTreeSet<Tag>,
}

impl Account {
    /// Of two instances of an application one wrote it, and the other, who knows nothing of it, said that all was
    /// delivered; or what it wrote too early was aborted, and it goes on under the same name.
    pub fn is_estranged(&self, tag: &Tag) -> bool {
        self.disturbed && (tag.stray || !self.commit_asked) && !tag.name.starts_with("gtc.")
    }

    /// Its application ended a branch by itself, and the coordinator died before it had decided. Of a v1 producer the next
    /// one cannot tell that branch from the transaction before it; and nobody can where the cluster has forgotten the
    /// producer, or the log was never told of it.
    pub fn is_unknowable(&self) -> bool {
        let silent = self.rash_v1 || !self.rash_own.is_subset(&self.recorded_own);
        let untold = matches!(self.told, None | Some(Told::InDoubt));
        !self.decided && (silent && untold || self.is_lost())
    }

    /// Of an own branch on this cluster nobody can prove how it ended.
    pub fn is_unprovable(&self, p: usize) -> bool {
        self.overtaken.iter().any(|(of, _)| *of == p)
    }

    /// Its application ended a branch by itself, and nothing shows it any more: its cluster has forgotten the producer,
    /// or another instance has initialised it before the paused coordinator came back.
    pub fn is_lost(&self) -> bool {
        self.rash && (self.forgotten || self.paused)
    }
}

/// What a caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Acknowledged.
    Committed,
    /// Absent.
    Aborted,
    /// Unknown.
    InDoubt,
    /// Some branches ended otherwise than decided.
    Mixed,
}
