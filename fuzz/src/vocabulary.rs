//! The words of the core, made of the fuzzer's bytes: mostly what fits, sometimes anything.

use std::sync::Arc;
use std::time::Duration;

use arbitrary::{Result, Unstructured};
use crc::{CRC_32_ISCSI, Crc};
use gtc_core::{
    Accepted, Action, AppendFailure, Backoff, BrokerState, CommitReturn, Config, ConnectReport,
    Decision, EndAnswer, GivesWay, Incarnation, Inquiry, Limits, ListedTransaction, Listing, LogId,
    ParticipantConfig, ParticipantId, PrepareReport, ProducerIdentity, Record, Request, Response,
    SlotCondition, SlotFailure, TransactionDescription, TransactionId, VersionClass, WriteReport,
};

const STATES: [BrokerState; 8] = [
    BrokerState::Empty,
    BrokerState::Ongoing,
    BrokerState::PrepareCommit,
    BrokerState::PrepareAbort,
    BrokerState::CompleteCommit,
    BrokerState::CompleteAbort,
    BrokerState::Dead,
    BrokerState::PrepareEpochFence,
];
/// The codes that mean something to the core, and some that do not.
const CODES: [i16; 10] = [-1, 3, 14, 16, 47, 48, 49, 50, 51, 90];
const NUMBERS: [u64; 8] = [0, 1, 2, 3, 7, 1_000_000, i64::MAX as u64, u64::MAX];
const GIVE_WAY: [GivesWay; 3] = [
    GivesWay::Nothing,
    GivesWay::Timeout,
    GivesWay::TimeoutAndMargin,
];
const KNOWN_MAX: usize = 64;

/// A record's body with the checksum that makes it whole.
#[must_use]
pub fn seal(body: &[u8]) -> Vec<u8> {
    let checksum = Crc::<u32>::new(&CRC_32_ISCSI).checksum(body);
    [body, &checksum.to_le_bytes()].concat()
}

/// Makes words, and remembers the names that were used so that they come again.
pub struct Vocabulary<'a> {
    input: Unstructured<'a>,
    transactions: Vec<TransactionId>,
    names: Vec<Arc<str>>,
}

/// A configuration that is valid more often than not.
pub fn config(words: &mut Vocabulary<'_>) -> Result<Config> {
    let mut participants = Vec::new();
    for index in 0..1 + words.pick(3)? {
        participants.push(ParticipantConfig {
            name: format!("p{index}"),
            slots_max: 1 + words.pick(3)? as u32,
            timeout_ms: [60_000, 900_000, i32::MAX][words.pick(3)?],
            margin: Duration::from_secs(10),
            gives_way: GIVE_WAY[index % GIVE_WAY.len()],
            names_max: [2, 3, 100, u32::MAX][words.pick(4)?],
        });
    }
    let limits = Limits {
        transactions_max: [1, 4, 100][words.pick(3)?],
        branches_max: [1, 2, 32][words.pick(3)?],
        key_bytes_max: [0, 8, 1024][words.pick(3)?],
        outcomes_max: [0, 1, 100][words.pick(3)?],
        discarded_max: [1, 2, 100][words.pick(3)?],
        enlist_timeout: words.duration()?,
        report_timeout: words.duration()?,
        slot_idle: words.duration()?,
        sweep_interval: words.duration()?,
        names_per_record: [1, 16, u32::MAX][words.pick(3)?],
        checkpoint_bytes: [1, 500, u64::MAX][words.pick(3)?],
    };
    Ok(Config {
        coordinator: "w".into(),
        log_id: LogId(7),
        participants,
        limits,
        backoff: Backoff {
            initial: words.duration()?,
            max: words.duration()?,
        },
        seed: words.number()?,
    })
}

impl<'a> Vocabulary<'a> {
    /// Words made of this input.
    #[must_use]
    pub fn new(input: Unstructured<'a>) -> Self {
        Self {
            input,
            transactions: Vec::new(),
            names: vec!["own".into(), "gtc.w.0000000000000007.1.p0.1".into()],
        }
    }

    /// A number below `count`; the end of the input ends everything.
    pub fn pick(&mut self, count: usize) -> Result<usize> {
        if self.input.is_empty() {
            return Err(arbitrary::Error::NotEnoughData);
        }
        self.input.int_in_range(0..=count - 1)
    }

    /// Any number, often a telling one.
    pub fn number(&mut self) -> Result<u64> {
        match self.pick(12)? {
            index if index < NUMBERS.len() => Ok(NUMBERS[index]),
            _ => self.input.arbitrary(),
        }
    }

    /// From a moment to for ever.
    pub fn duration(&mut self) -> Result<Duration> {
        Ok(match self.pick(8)? {
            0 => Duration::ZERO,
            1 => Duration::from_micros(1),
            2 => Duration::MAX,
            3 => Duration::from_secs(100_000),
            4 | 5 => Duration::from_millis(self.input.int_in_range(1..=2000)?),
            _ => Duration::from_secs(self.input.int_in_range(1..=1000)?),
        })
    }

    /// What a request led to comes again.
    pub fn remember_accepted(&mut self, accepted: Accepted) {
        if let Accepted::Begun(id) = accepted
            && self.transactions.len() < KNOWN_MAX
        {
            self.transactions.push(id);
        }
    }

    /// The names in an action come again.
    pub fn remember_action(&mut self, action: &Action) {
        let name = match action {
            Action::OpenSlot {
                transactional_id, ..
            }
            | Action::Prepare {
                transactional_id, ..
            }
            | Action::Inquire {
                transactional_id, ..
            }
            | Action::Fence {
                transactional_id, ..
            } => transactional_id,
            _ => return,
        };
        if self.names.len() < KNOWN_MAX && !self.names.contains(name) {
            self.names.push(name.clone());
        }
    }

    fn chance(&mut self) -> Result<bool> {
        Ok(self.pick(2)? == 1)
    }

    fn bytes(&mut self, most: usize) -> Result<Vec<u8>> {
        let length = self.pick(most + 1)?.min(self.input.len());
        Ok(self.input.bytes(length)?.to_vec())
    }

    fn text(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(6)?).into_owned())
    }

    fn name(&mut self) -> Result<Arc<str>> {
        match self.pick(8)? {
            0 => Ok(self.text()?.into()),
            1 => Ok(format!("gtc.w.{:016x}.{}.p0.{}", 7, self.pick(4)?, self.pick(9)?).into()),
            2 => Ok(format!("gtc.w.{:016x}.1.p0.1", 8).into()),
            _ => {
                let index = self.pick(self.names.len())?;
                Ok(self.names[index].clone())
            }
        }
    }

    fn participant(&mut self) -> Result<ParticipantId> {
        Ok(ParticipantId([0, 1, 2, 3, u16::MAX][self.pick(5)?]))
    }

    fn transaction(&mut self) -> Result<TransactionId> {
        if self.transactions.is_empty() || self.pick(12)? == 0 {
            return Ok(TransactionId {
                incarnation: Incarnation([0, 1, 2, u32::MAX][self.pick(4)?]),
                sequence: self.number()?,
            });
        }
        let index = self.pick(self.transactions.len())?;
        Ok(self.transactions[index])
    }

    fn decision(&mut self) -> Result<Decision> {
        Ok([Decision::Commit, Decision::Abort][self.pick(2)?])
    }

    fn version_class(&mut self) -> Result<VersionClass> {
        Ok([VersionClass::V1, VersionClass::V2][self.pick(2)?])
    }

    fn told_producer(&mut self) -> Result<Option<ProducerIdentity>> {
        Ok(if self.chance()? {
            Some(self.producer()?)
        } else {
            None
        })
    }

    fn producer(&mut self) -> Result<ProducerIdentity> {
        Ok(ProducerIdentity {
            producer_id: [7, 8, -1, i64::MAX, 0][self.pick(5)?],
            epoch: [0, 1, 2, -1, i16::MAX, i16::MAX - 1, i16::MIN][self.pick(7)?],
        })
    }

    /// Any request.
    pub fn request(&mut self) -> Result<Request> {
        Ok(match self.pick(16)? {
            0..=2 => Request::Begin {
                key: if self.chance()? {
                    Some(self.bytes(9)?)
                } else {
                    None
                },
                timeout: if self.chance()? {
                    Some(self.duration()?)
                } else {
                    None
                },
            },
            3..=6 => Request::Enlist {
                transaction: self.transaction()?,
                participant: self.participant()?,
            },
            7 => Request::EnlistOwn {
                transaction: self.transaction()?,
                participant: self.participant()?,
                transactional_id: self.name()?,
                version_class: self.version_class()?,
                producer: self.told_producer()?,
            },
            8..=10 => Request::Commit {
                transaction: self.transaction()?,
                report: [CommitReturn::Acknowledged, CommitReturn::Decided][self.pick(2)?],
            },
            11 => Request::Abort {
                transaction: self.transaction()?,
                reason: self.text()?,
            },
            _ => return self.rare_request(),
        })
    }

    fn rare_request(&mut self) -> Result<Request> {
        Ok(match self.pick(11)? {
            10 => Request::EnlistOwnNewest {
                transaction: self.transaction()?,
                participant: self.participant()?,
                transactional_id: self.name()?,
                producer: self.told_producer()?,
            },
            8 => Request::Unreachable {
                participant: self.participant()?,
                why: self.text()?,
            },
            9 => Request::Broken {
                participant: self.participant()?,
                why: self.text()?,
            },
            0 | 1 => Request::Settle {
                participant: self.participant()?,
                transactional_id: self.name()?,
            },
            2 | 3 => Request::Resolve {
                transaction: self.transaction()?,
                decision: self.decision()?,
            },
            4 => Request::ResolveForeign {
                participant: self.participant()?,
                transactional_id: self.name()?,
                decision: self.decision()?,
            },
            5 | 6 => Request::Forget {
                transaction: self.transaction()?,
            },
            _ => Request::Close,
        })
    }

    /// A response of the kind that this action asks for, nearly always.
    pub fn response(&mut self, action: &Action) -> Result<Response> {
        if self.pick(200)? == 199 {
            return self.any_response();
        }
        let kind = match action {
            Action::Append { .. } | Action::Checkpoint { .. } => 0,
            Action::Connect { .. } => 1,
            Action::OpenSlot { .. } => 2,
            Action::VerifySlot { .. } => 3,
            Action::CloseSlot { .. } => 4,
            Action::Prepare { .. } => 5,
            Action::EndByWriter { .. } | Action::EndTransaction { .. } | Action::Fence { .. } => 6,
            Action::Inquire { .. } => 7,
            Action::List { .. } => 8,
            _ => return self.any_response(),
        };
        self.response_of(kind)
    }

    /// Any response.
    pub fn any_response(&mut self) -> Result<Response> {
        let kind = self.pick(9)?;
        self.response_of(kind)
    }

    fn response_of(&mut self, kind: usize) -> Result<Response> {
        let good = self.pick(8)? != 0;
        Ok(match kind {
            0 if good => Response::Appended,
            0 => Response::AppendFailed(self.append_failure()?),
            1 if good => Response::Connected(self.connect_report()?),
            1 => Response::ConnectFailed(self.text()?),
            2 if good => Response::SlotOpened {
                producer: self.producer()?,
                condition: self.condition()?,
            },
            2 => Response::SlotFailed(SlotFailure {
                timeout_above_ceiling: self.chance()?,
                detail: self.text()?,
            }),
            3 => Response::SlotVerified(self.condition()?),
            4 => Response::SlotClosed,
            5 => Response::Prepared(self.prepare_report()?),
            6 if good => Response::Ended(EndAnswer::Acknowledged),
            6 => Response::Ended(self.end_failure()?),
            7 => Response::Inquired(self.inquiry()?),
            _ => Response::Listed(self.listing()?),
        })
    }

    fn append_failure(&mut self) -> Result<AppendFailure> {
        let why = self.text()?;
        Ok(match self.pick(4)? {
            0 => AppendFailure::Unknown(why),
            1 => AppendFailure::Fenced(why),
            _ => AppendFailure::Refused(why),
        })
    }

    fn connect_report(&mut self) -> Result<ConnectReport> {
        let ceilings = [
            None,
            Some(900_000),
            Some(0),
            Some(-1),
            Some(i64::MAX),
            Some(1),
        ];
        Ok(ConnectReport {
            cluster_id: ["a", "a", "a", "b", ""][self.pick(5)?].into(),
            transaction_version: [2, 1, 0, -1, i16::MAX][self.pick(5)?],
            timeout_ceiling_ms: ceilings[self.pick(6)?],
        })
    }

    fn condition(&mut self) -> Result<SlotCondition> {
        Ok(match self.pick(6)? {
            0 => SlotCondition::Unproven(self.text()?),
            _ => SlotCondition::Clean,
        })
    }

    fn end_failure(&mut self) -> Result<EndAnswer> {
        Ok(match self.pick(4)? {
            0 => EndAnswer::NoAnswer(self.text()?),
            1 => EndAnswer::NotSent(self.text()?),
            _ => EndAnswer::Code(CODES[self.pick(CODES.len())?]),
        })
    }

    fn inquiry(&mut self) -> Result<Inquiry> {
        Ok(match self.pick(8)? {
            0 => Inquiry::NotFound,
            1 => Inquiry::NoAnswer(self.text()?),
            2 => Inquiry::Refused(CODES[self.pick(CODES.len())?]),
            _ => Inquiry::Described(TransactionDescription {
                state: STATES[self.pick(STATES.len())?],
                producer: self.producer()?,
                start_time_ms: [1, 2, -1, i64::MAX, i64::MIN][self.pick(5)?],
                timeout_ms: [60_000, 900_000, 0, -1, i32::MAX][self.pick(5)?],
            }),
        })
    }

    fn prepare_report(&mut self) -> Result<PrepareReport> {
        let sent = [1, 0, u64::MAX][self.pick(3)?];
        let plain = self.pick(4)? != 0;
        let writes = WriteReport {
            sent,
            delivered: if plain { sent } else { self.number()? },
            failed: if plain { 0 } else { self.number()? },
            offsets_sent: if plain { 0 } else { self.number()? },
            offsets_failed: if plain { 0 } else { self.number()? },
            stated_delivered: self.chance()?,
            fenced: !plain && self.chance()?,
            detail: None,
        };
        Ok(PrepareReport {
            writes,
            writer: self.told_producer()?,
            inquiry: if self.pick(6)? != 0 {
                Some(self.inquiry()?)
            } else {
                None
            },
            strayed: self.chance()?.then(|| "orders-0".into()),
        })
    }

    fn listing(&mut self) -> Result<Listing> {
        let mut transactions = Vec::new();
        // A cluster that hides nothing shows every name that was initialised there.
        let complete = self.pick(6)? != 0;
        if complete {
            for name in self.names.clone() {
                if name.starts_with("gtc.") {
                    transactions.push(self.listed(name)?);
                }
            }
        }
        for _ in 0..self.pick(3)? {
            let name = self.name()?;
            transactions.push(self.listed(name)?);
        }
        Ok(Listing {
            transactions,
            complete,
            detail: None,
        })
    }

    fn listed(&mut self, name: Arc<str>) -> Result<ListedTransaction> {
        Ok(ListedTransaction {
            transactional_id: name,
            producer_id: [7, 8, -1][self.pick(3)?],
            state: STATES[self.pick(STATES.len())?],
        })
    }

    /// A record that a log may hold.
    pub fn record(&mut self) -> Result<Record> {
        let body = self.bytes(90)?;
        if let Ok(record) = Record::decode(&seal(&body)) {
            return Ok(record);
        }
        let participant: Arc<str> = ["p0", "p1", "gone"][self.pick(3)?].into();
        let incarnation = Incarnation([1, 2, 3, u32::MAX][self.pick(4)?]);
        Ok(match self.pick(5)? {
            0 => Record::Started {
                incarnation,
                unix_ms: self.number()?,
            },
            1 => Record::ClusterBound {
                participant,
                cluster_id: ["a", "b"][self.pick(2)?].into(),
            },
            2 => Record::Names {
                incarnation,
                participant,
                first: [0, 1, u32::MAX][self.pick(3)?],
                count: [1, 2, u32::MAX][self.pick(3)?],
                unix_ms: self.number()?,
            },
            _ => {
                let (transaction, transactional_id) = (self.transaction()?, self.name()?);
                self.transactions.push(transaction);
                Record::OwnEnlisted {
                    transaction,
                    participant,
                    transactional_id,
                    producer: self.producer()?,
                    version_class: self.version_class()?,
                }
            }
        })
    }
}
