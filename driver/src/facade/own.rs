//! An own producer's branch.

use std::fmt;

use gtc_core::Reuse;

use super::pending::{Abandoned, Pending};
use super::verbs::meaning;
use crate::own;

/// The branch of an own producer. What it is told about the producer's deliveries is its vote;
/// nothing said is a no.
#[derive(Clone)]
pub struct OwnBranch(own::OwnBranch);

impl OwnBranch {
    pub(super) fn new(branch: own::OwnBranch) -> Self {
        Self(branch)
    }

    #[doc = meaning!(own_branch sent)]
    pub fn sent(&self) {
        self.0.sent();
    }

    #[doc = meaning!(own_branch delivered)]
    pub fn delivered(&self) {
        self.0.delivered();
    }

    #[doc = meaning!(own_branch delivered_to)]
    pub fn delivered_to(&self, topic: &str, partition: i32) {
        self.0.delivered_to(topic, partition);
    }

    #[doc = meaning!(own_branch failed)]
    pub fn failed(&self, reason: impl fmt::Display) {
        self.0.failed(reason);
    }

    #[doc = meaning!(own_branch state_delivered)]
    pub fn state_delivered(&self) {
        self.0.state_delivered();
    }

    #[doc = meaning!(own_branch state_failed)]
    pub fn state_failed(&self, reason: impl fmt::Display) {
        self.0.state_failed(reason);
    }

    #[doc = meaning!(own_branch finished)]
    ///
    /// # Errors
    /// In-doubt if the branch is not ended when the transaction is for its caller: discard the
    /// producer, and settle its transactional.id before making a new one.
    pub fn finished(&self) -> Pending<Reuse> {
        let branch = self.0.clone();
        let about = ("finish own branch", Abandoned::Stops);
        Pending::start(about, async move { branch.finished().await })
    }
}

impl fmt::Debug for OwnBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
