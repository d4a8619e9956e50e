//! Cluster identity: a participant's name stands for one cluster, and another one is never worked on (R17).

use crate::violation::{Verdict, holds};

/// The name.
pub const NAME: &str = "cluster-identity";

/// When a request of gtc reaches a cluster.
pub fn check(impostor: bool, request: &dyn std::fmt::Debug) -> Verdict {
    holds(NAME, !impostor, || {
        format!("another cluster than the bound one is worked on: {request:?}")
    })
}
