//! A cluster of several nodes: what they have in common, and what tells them apart.

use crate::config::Ports;
use crate::error::Result;
use crate::node::{Seat, random_uuid};
use crate::options::ClusterOptions;

/// Seats and options of so many nodes of one cluster, each broker and controller. Topics have a
/// replica on up to three of them, and stay writable while all but one of these live.
pub(crate) fn seats(options: &ClusterOptions, count: u32) -> Result<Vec<(Seat, ClusterOptions)>> {
    let cluster_id = random_uuid()?;
    let ports = (0..count)
        .map(|_| Ports::reserve())
        .collect::<Result<Vec<_>>>()?;
    let voters: Vec<String> = (1..)
        .zip(&ports)
        .map(|(id, ports): (u32, _)| format!("{id}@127.0.0.1:{}", ports.controller.number()))
        .collect();
    let voters = voters.join(",");
    let seats = (1..).zip(ports).map(|(id, ports): (u32, _)| {
        let cluster_id = cluster_id.clone();
        let options = member(options, id, count).property("controller.quorum.voters", &voters);
        (Seat { cluster_id, ports }, options)
    });
    Ok(seats.collect())
}

fn member(options: &ClusterOptions, id: u32, count: u32) -> ClusterOptions {
    let (replicas, in_sync) = (count.min(3), count.min(3).div_ceil(2));
    let [replicas, in_sync] = [replicas, in_sync].map(|count| count.to_string());
    let mut member = options.clone();
    member.name = format!("{}-{id}", options.name);
    member
        .property("node.id", id.to_string())
        .property("default.replication.factor", &replicas)
        .property("min.insync.replicas", &in_sync)
        .property("offsets.topic.replication.factor", &replicas)
        .property("transaction.state.log.replication.factor", &replicas)
        .property("transaction.state.log.min.isr", &in_sync)
}
