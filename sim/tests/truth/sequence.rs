//! One seeded sequence of requests about one transactional.id, to the model and to a broker.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use gtc_core::{
    Decision, Incarnation, Inquiry, ProducerIdentity, TransactionDescription, TransactionId,
    VersionClass,
};
use gtc_sim::model::broker::Broker;
use gtc_sim::model::call::{Call, Reply, Tag, code};

use crate::real::Real;

/// The ceiling of both sides: no transaction with this time-out expires while the test runs.
pub const CEILING_MS: i32 = 900_000;
/// A time-out that a sequence waits for.
const SHORT_MS: i32 = 200;
/// How long a broker may take to notice one.
const PATIENCE: Duration = Duration::from_secs(60);
const STEPS: usize = 12;

/// SplitMix64.
pub struct Dice(u64);

impl Dice {
    /// Dice of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `count`.
    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % count
    }
}

/// Both sides, and what has been learned of how their numbers correspond.
pub struct Sequence<'a> {
    real: &'a mut Real,
    model: Broker,
    name: Arc<str>,
    dice: Dice,
    v2_cluster: bool,
    now_us: u64,
    /// Identities seen, oldest first, as the model numbers them.
    seen: Vec<ProducerIdentity>,
    /// From the model's producer ids and start times to the broker's.
    ids: BTreeMap<i64, i64>,
    starts: BTreeMap<i64, i64>,
    lines: Vec<String>,
    transactions: u64,
    /// A record of an old epoch was sent.
    poisoned: bool,
}

/// What went differently, with the whole sequence.
pub type Difference = String;

impl<'a> Sequence<'a> {
    /// The sequence of a seed.
    pub fn new(seed: u64, transaction_version: i16, real: &'a mut Real) -> Self {
        let mut model = Broker::new(transaction_version, 0, 1_000_000);
        model.ceiling_ms = CEILING_MS;
        Self {
            real,
            model,
            name: format!("truth-{transaction_version}-{seed}").into(),
            dice: Dice::new(seed),
            v2_cluster: transaction_version >= 2,
            now_us: 1_000_000,
            seen: Vec::new(),
            ids: BTreeMap::from([(-1, -1)]),
            starts: BTreeMap::from([(-1, -1)]),
            lines: Vec::new(),
            transactions: 0,
            poisoned: false,
        }
    }

    /// Runs it; returns how many requests it sent.
    pub fn run(mut self) -> Result<usize, Difference> {
        let client = match self.dice.below(2) {
            1 if self.v2_cluster => VersionClass::V2,
            _ => VersionClass::V1,
        };
        // Nearly all sequences begin with an initialisation, as there is little to ask before one.
        if self.dice.below(16) > 0 {
            self.init()?;
        }
        for _ in 0..STEPS {
            match self.dice.below(12) {
                0 | 1 => self.init()?,
                2..=4 => self.write(client)?,
                5 => self.offsets(client)?,
                6..=9 => self.end(client)?,
                10 => self.list()?,
                _ => self.expire()?,
            }
        }
        Ok(self.lines.len())
    }

    fn init(&mut self) -> Result<(), Difference> {
        let timeout_ms = match self.dice.below(8) {
            0 => CEILING_MS + 1,
            _ => CEILING_MS,
        };
        let id = self.name.clone();
        self.both(&Call::Init { id, timeout_ms })
    }

    /// The identity that a request carries: mostly the right one.
    fn identity(&mut self, oddities: u64) -> ProducerIdentity {
        let unknown = ProducerIdentity {
            producer_id: 999,
            epoch: 0,
        };
        let now = self.seen.last().copied().unwrap_or(unknown);
        match self.dice.below(oddities) {
            0 => *self.seen.first().unwrap_or(&unknown),
            1 => self.seen.iter().rev().nth(1).copied().unwrap_or(now),
            2 => ProducerIdentity {
                epoch: now.epoch + 1,
                ..now
            },
            3 => unknown,
            _ => now,
        }
    }

    fn tag(&mut self) -> Tag {
        self.transactions += 1;
        Tag {
            transaction: TransactionId {
                incarnation: Incarnation(1),
                sequence: 1,
            },
            participant: 0,
            name: self.name.clone(),
            stray: false,
        }
    }

    fn write(&mut self, class: VersionClass) -> Result<(), Difference> {
        let (id, tag) = (self.name.clone(), self.tag());
        let oddities = if class == VersionClass::V1 { 16 } else { 12 };
        let producer = self.identity(oddities);
        if class == VersionClass::V1 && self.dice.below(8) > 0 {
            let (id, tag) = (id.clone(), tag.clone());
            self.both(&Call::Add { id, producer, tag })?;
        }
        // A partition takes a higher epoch than its coordinator gave for a new producer: no client has one.
        let last = self.seen.last();
        if last.is_none_or(|last| producer.epoch > last.epoch || producer.producer_id == 999) {
            return Ok(());
        }
        // After a record of an old epoch a broker refuses the next good one with 45, until its verification
        // is forgotten: sequence numbers of records are not modelled.
        if self.poisoned {
            return Ok(());
        }
        self.poisoned = last != Some(&producer);
        let number = self.transactions;
        self.both(&Call::Write {
            id,
            producer,
            class,
            tag,
            number,
        })
    }

    fn offsets(&mut self, class: VersionClass) -> Result<(), Difference> {
        let (id, tag) = (self.name.clone(), self.tag());
        let producer = self.identity(16);
        let generation = if self.dice.below(4) == 0 { 7 } else { -1 };
        let number = self.transactions;
        self.both(&Call::Offsets {
            id,
            producer,
            class,
            tag,
            generation,
            offset: number,
        })
    }

    fn end(&mut self, class: VersionClass) -> Result<(), Difference> {
        let decision = match self.dice.below(3) {
            0 => Decision::Abort,
            _ => Decision::Commit,
        };
        // Versions are never mixed on one branch by gtc, but by a mistake of somebody else they can be.
        let version = match (class, self.dice.below(8)) {
            (VersionClass::V1, 0) if self.v2_cluster => 5,
            (VersionClass::V2, 0) => 4,
            (VersionClass::V1, 1..=3) => 4,
            (VersionClass::V1, _) => 1,
            (VersionClass::V2, _) => 5,
        };
        let call = Call::End {
            id: self.name.clone(),
            producer: self.identity(10),
            version,
            decision,
            intent: None,
        };
        self.both(&call)
    }

    /// Opens a transaction with a short time-out, and asks nothing before it has expired: how much of it has
    /// passed at an answer is a matter of luck.
    fn expire(&mut self) -> Result<(), Difference> {
        let (id, tag) = (self.name.clone(), self.tag());
        for timeout_ms in [SHORT_MS, SHORT_MS] {
            // The first one may meet an open transaction, and only abort it.
            let id = id.clone();
            self.both(&Call::Init { id, timeout_ms })?;
        }
        let Some(producer) = self.seen.last().copied() else {
            return Ok(());
        };
        let call = Call::Add { id, producer, tag };
        self.lines.push("a transaction expires".into());
        self.model.call(&call, self.now_us);
        self.real.call(&self.translated(&call));
        self.now_us += 2 * SHORT_MS as u64 * 1000;
        self.model.tick(self.now_us);
        self.model.write_markers(u64::MAX);
        self.real.await_end(&self.name, PATIENCE);
        self.compare_state()?;
        let id = self.name.clone();
        self.both(&Call::Init {
            id,
            timeout_ms: CEILING_MS,
        })
    }

    fn list(&mut self) -> Result<(), Difference> {
        let listed = self.model.list(&self.name);
        let model = listed
            .first()
            .map(|found| (self.ids[&found.producer_id], found.state));
        let real = self.real.listed(&self.name);
        self.compare("list", &model, &real)
    }

    /// Sends a request to both and compares the answers, and then what they say of the id.
    fn both(&mut self, call: &Call) -> Result<(), Difference> {
        let real = match (call, self.real.call(&self.translated(call))) {
            // Which of the two depends on what else the broker verifies at the same time.
            (Call::Write { .. }, Reply::Code(code::TRANSACTION_ABORTABLE)) => {
                Reply::Code(code::INVALID_TXN_STATE)
            }
            (_, reply) => reply,
        };
        let model = self.model.call(call, self.now_us);
        self.lines.push(format!(
            "{call:?}\n      model {model:?}\n      real  {real:?}"
        ));
        self.now_us += 1000;
        if let (Reply::Done(model), Reply::Done(real)) = (model, real) {
            self.meet(model, real);
        }
        let model = match model {
            Reply::Done(producer) => Reply::Done(self.as_real(producer)),
            code => code,
        };
        self.compare("answer", &model, &real)?;
        self.model.write_markers(u64::MAX);
        self.compare_state()
    }

    fn compare_state(&mut self) -> Result<(), Difference> {
        let (model, real) = (
            self.model.describe(&self.name),
            self.real.describe(&self.name),
        );
        if let (Inquiry::Described(model), Inquiry::Described(real)) = (&model, &real) {
            self.meet(model.producer, real.producer);
            self.starts
                .entry(model.start_time_ms)
                .or_insert(real.start_time_ms);
        }
        let model = match model {
            Inquiry::Described(found) => Inquiry::Described(TransactionDescription {
                producer: self.as_real(found.producer),
                start_time_ms: self.starts[&found.start_time_ms],
                ..found
            }),
            other => other,
        };
        self.compare("description", &model, &real)
    }

    fn compare<T: Debug + PartialEq>(
        &self,
        what: &str,
        model: &T,
        real: &T,
    ) -> Result<(), Difference> {
        if model == real {
            return Ok(());
        }
        let lines = self.lines.join("\n  ");
        Err(format!(
            "{}: another {what}\n  {lines}\n  model {model:?}\n  real  {real:?}",
            self.name
        ))
    }

    fn meet(&mut self, model: ProducerIdentity, real: ProducerIdentity) {
        self.ids
            .entry(model.producer_id)
            .or_insert(real.producer_id);
        if !self.seen.contains(&model) {
            self.seen.push(model);
        }
    }

    fn as_real(&self, model: ProducerIdentity) -> ProducerIdentity {
        let id = self.ids.get(&model.producer_id);
        ProducerIdentity {
            // An id that nobody was ever given, on both sides.
            producer_id: id.copied().unwrap_or(model.producer_id + 1_000_000_000),
            ..model
        }
    }

    fn translated(&self, call: &Call) -> Call {
        let mut call = call.clone();
        match &mut call {
            Call::Init { .. } => {}
            Call::End { producer, .. }
            | Call::Add { producer, .. }
            | Call::Write { producer, .. }
            | Call::Offsets { producer, .. } => *producer = self.as_real(*producer),
        }
        call
    }
}
