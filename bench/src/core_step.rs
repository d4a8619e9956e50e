//! The core alone, with a driver that answers at once and touches nothing.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gtc_core::{
    Accepted, Action, ActionId, Backoff, BrokerState, CommitReturn, Config, ConnectReport,
    Coordinator, EndAnswer, GivesWay, Inquiry, Ledger, Limits, ListedTransaction, Listing, LogId,
    Now, Output, ParticipantConfig, ParticipantId, PrepareReport, ProducerIdentity, Request,
    Response, SlotCondition, Time, TransactionDescription, WriteReport,
};

use crate::figures::median_and_p99;

#[derive(clap::Args)]
pub struct Options {
    /// Transactions measured.
    #[arg(long, default_value_t = 1_000_000)]
    transactions: u64,
}

/// Transactions of a turn. A turn is short, so that most are not interrupted by what else the machine does.
const TURN: u32 = 500;

const PRODUCER: ProducerIdentity = ProducerIdentity {
    producer_id: 7,
    epoch: 0,
};

pub fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::open()?;
    world.transactions(options.transactions / 10)?;
    let mut turns = Vec::new();
    for _ in 0..options.transactions.div_ceil(u64::from(TURN)) {
        let begun = Instant::now();
        world.transactions(u64::from(TURN))?;
        turns.push(begun.elapsed() / TURN);
    }
    let mean = turns.iter().sum::<Duration>() / u32::try_from(turns.len().max(1))?;
    let (each, _) = median_and_p99(turns);
    println!("two-branch transactions  {}", options.transactions);
    println!("each, median of turns    {} ns", each.as_nanos());
    println!("each, mean               {} ns", mean.as_nanos());
    println!("aim                      under 1000 ns: {}", verdict(each));
    Ok(())
}

fn verdict(each: Duration) -> &'static str {
    if each < Duration::from_micros(1) {
        "met"
    } else {
        "missed"
    }
}

struct World {
    coordinator: Coordinator,
    initialised: [Option<Arc<str>>; 2],
    now: Now,
}

impl World {
    fn open() -> Result<Self, Box<dyn std::error::Error>> {
        let now = Now {
            monotonic: Time::from_micros(1),
            unix_ms: 1,
        };
        let coordinator = Coordinator::new(config(), Ledger::new(), now)?;
        let mut world = Self {
            coordinator,
            initialised: [None, None],
            now,
        };
        world.drain();
        Ok(world)
    }

    fn transactions(&mut self, count: u64) -> Result<(), Box<dyn std::error::Error>> {
        for _ in 0..count {
            self.now.monotonic = self.now.monotonic + Duration::from_micros(1);
            self.transaction()?;
        }
        Ok(())
    }

    fn transaction(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let begin = Request::Begin {
            key: None,
            timeout: None,
        };
        let refused = |refusal| format!("{refusal:?}");
        let begun = self
            .coordinator
            .handle_request(begin, self.now)
            .map_err(refused)?;
        let Accepted::Begun(transaction) = begun else {
            return Err("not begun".into());
        };
        for index in 0..2 {
            let enlist = Request::Enlist {
                transaction,
                participant: ParticipantId(index),
            };
            self.coordinator
                .handle_request(enlist, self.now)
                .map_err(refused)?;
        }
        self.drain();
        let commit = Request::Commit {
            transaction,
            report: CommitReturn::Acknowledged,
        };
        self.coordinator
            .handle_request(commit, self.now)
            .map_err(refused)?;
        self.drain();
        Ok(())
    }

    fn drain(&mut self) {
        loop {
            match &self.coordinator.poll_output() {
                Output::Action(id, action) => self.answer(*id, action),
                Output::Event(event) => {
                    black_box(event);
                }
                Output::Wait(..) => return,
            }
        }
    }

    fn answer(&mut self, id: ActionId, action: &Action) {
        let response = match action {
            Action::Append { records, .. } => {
                // Encoding is a part of what a transaction costs.
                records
                    .iter()
                    .for_each(|record| drop(black_box(record.encode())));
                Response::Appended
            }
            Action::Checkpoint { .. } => Response::Appended,
            Action::Connect { participant } => Response::Connected(ConnectReport {
                cluster_id: format!("cluster-{}", participant.0),
                transaction_version: 2,
                timeout_ceiling_ms: None,
            }),
            Action::OpenSlot { .. } => Response::SlotOpened {
                producer: PRODUCER,
                condition: SlotCondition::Clean,
            },
            Action::VerifySlot { .. } => Response::SlotVerified(SlotCondition::Clean),
            Action::CloseSlot { .. } => Response::SlotClosed,
            Action::Prepare { .. } => Response::Prepared(prepared()),
            Action::Fence {
                participant,
                transactional_id,
                ..
            } => {
                self.initialised[usize::from(participant.0)] = Some(transactional_id.clone());
                Response::Ended(EndAnswer::Acknowledged)
            }
            Action::List { participant, .. } => Response::Listed(self.listing(*participant)),
            // Of the probe, before it is made.
            Action::Inquire { .. } => Response::Inquired(Inquiry::NotFound),
            _ => Response::Ended(EndAnswer::Acknowledged),
        };
        self.coordinator.handle_response(id, response, self.now);
    }

    fn listing(&self, participant: ParticipantId) -> Listing {
        let probe = self.initialised[usize::from(participant.0)].iter();
        let transactions = probe.map(|id| ListedTransaction {
            transactional_id: id.clone(),
            producer_id: 1,
            state: BrokerState::Empty,
        });
        Listing {
            transactions: transactions.collect(),
            complete: true,
            detail: None,
        }
    }
}

fn prepared() -> PrepareReport {
    PrepareReport {
        writes: WriteReport {
            sent: 1,
            delivered: 1,
            ..WriteReport::default()
        },
        writer: Some(PRODUCER),
        inquiry: Some(Inquiry::Described(TransactionDescription {
            state: BrokerState::Ongoing,
            producer: PRODUCER,
            start_time_ms: 1,
            timeout_ms: 900_000,
        })),
        strayed: None,
    }
}

fn config() -> Config {
    let participant = |name: &str| ParticipantConfig {
        name: name.into(),
        slots_max: 16,
        timeout_ms: 900_000,
        margin: Duration::from_secs(30),
        gives_way: GivesWay::Nothing,
        names_max: 1000,
    };
    Config {
        coordinator: "bench".into(),
        log_id: LogId(1),
        participants: vec![participant("eu"), participant("us")],
        limits: Limits::default(),
        backoff: Backoff::default(),
        seed: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transaction_of_its_world_commits() {
        let mut world = World::open().expect("a world");
        world.transactions(100).expect("100 transactions");
        let counters = world.coordinator.counters();
        assert_eq!((counters.begun, counters.committed), (100, 100));
    }
}
