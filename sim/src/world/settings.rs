//! What a world is made of, by the first choices of its seed.

use std::sync::Arc;
use std::time::Duration;

use gtc_core::{
    Backoff, Config, GivesWay, Limits, LogId, ParticipantConfig, ProducerIdentity, VersionClass,
    WriteReport,
};

use super::MARGIN;
use super::app::own::{Own, Says, Stage};
use crate::model::broker::Broker;
use crate::model::entry::LAST_EPOCH;
use crate::source::Source;
use crate::swarm::{Fault, Swarm};

/// The coordinator's id, in every world.
pub const COORDINATOR: &str = "w";

/// The configuration of the owner of a log.
pub fn config(source: &mut Source, participants: usize, log_id: LogId) -> Config {
    let participant = |index: usize, slots_max| ParticipantConfig {
        name: format!("p{index}"),
        slots_max,
        timeout_ms: 80_000,
        margin: MARGIN,
        gives_way: match index % 2 {
            0 => GivesWay::Nothing,
            _ => GivesWay::TimeoutAndMargin,
        },
        names_max: 2000,
    };
    let participants = (0..participants).map(|i| participant(i, 1 + source.pick(3) as u32));
    let participants = participants.collect();
    let limits = Limits {
        enlist_timeout: Duration::from_secs(5),
        report_timeout: Duration::from_secs(8),
        slot_idle: Duration::from_secs(25),
        sweep_interval: Duration::from_secs(20),
        names_per_record: [2, 16][source.pick(2)],
        checkpoint_bytes: [1 << 20, 1500][source.pick(2)],
        ..Limits::default()
    };
    Config {
        coordinator: COORDINATOR.into(),
        log_id,
        participants,
        limits,
        backoff: Backoff {
            initial: Duration::from_millis(10),
            max: Duration::from_secs(1),
        },
        seed: source.pick(4) as u64,
    }
}

/// A cluster.
pub fn broker(source: &mut Source, swarm: Swarm) -> Broker {
    let transaction_version = [2, 1][source.pick(2)];
    let first_epoch = [0, LAST_EPOCH - 2, LAST_EPOCH][source.pick(3)];
    let skew_ms = [0, -3_600_000, 3_600_000][source.pick(3)] + 10_000_000;
    let mut broker = Broker::new(transaction_version, first_epoch, skew_ms);
    if swarm.has(Fault::Markers) {
        broker.marker_delay_us = [0, 40_000, 3_000_000][source.pick(3)];
    }
    broker
}

/// The producers of the application's own.
pub fn owns(source: &mut Source, brokers: &[Broker], swarm: Swarm) -> Vec<Own> {
    let count = [0, 1, 2, 3][source.pick(4)];
    let own = |index: usize| {
        let p = source.pick(brokers.len());
        let v2 = brokers[p].transaction_version >= 2 && source.pick(2) == 1;
        let class = if v2 {
            VersionClass::V2
        } else {
            VersionClass::V1
        };
        Own {
            p,
            name: Arc::from(format!("own-{index}")),
            class,
            stage: Stage::Fresh,
            producer: ProducerIdentity {
                producer_id: -1,
                epoch: -1,
            },
            report: WriteReport::default(),
            says: match source.pick(4) {
                0 | 1 => Says::Counts,
                2 if swarm.has(Fault::OwnSilent) => Says::Nothing,
                _ => Says::Delivered,
            },
            early: None,
        }
    };
    (0..count).map(own).collect()
}
