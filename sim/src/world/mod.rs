//! A small world around the core: clusters, a log, a driver, an application and an oracle, all from one tape.

pub mod app;
pub mod driver;
mod heal;
pub mod log;
pub mod oracle;
mod settings;
mod trace;
mod transitions;

use std::collections::BTreeSet;
use std::time::Duration;

use gtc_core::{
    Action, Config, Coordinator, Decision, Ledger, Now, Output, Record, Request, Time,
    TransactionId, TransactionState,
};

use crate::model::broker::{Broker, Call};
use crate::run::Options;
use crate::source::Source;
use app::App;
use driver::Driver;
use log::{Log, Sync};
use oracle::Oracle;
use trace::Trace;
use transitions::Walk;

/// How long before its time-out a branch is no longer promised.
pub const MARGIN: Duration = Duration::from_secs(10);

/// The ceiling of a cluster, and a lowered one: above the time-out of a fence, below that of a slot.
const CEILINGS_MS: [i32; 2] = [90_000, 70_000];

/// What a history was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Transactions told committed.
    pub committed: u64,
    /// Told aborted.
    pub aborted: u64,
    /// Told in doubt.
    pub in_doubt: u64,
    /// Told mixed.
    pub mixed: u64,
    /// Starts of a coordinator.
    pub starts: u64,
}

impl Summary {
    /// Adds those of another history.
    pub fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.in_doubt += other.in_doubt;
        self.mixed += other.mixed;
        self.starts += other.starts;
    }
}

/// The world.
pub struct World {
    pub source: Source,
    pub now: Now,
    pub faults: bool,
    pub brokers: Vec<Broker>,
    /// Requests that arrive some time later.
    pub late: Vec<(usize, Call)>,
    pub log: Log,
    pub driver: Driver,
    pub coordinator: Coordinator,
    pub app: App,
    pub enlisting: BTreeSet<(TransactionId, usize)>,
    pub oracle: Oracle,
    pub recovered: bool,
    pub stopped: bool,
    config: Config,
    options: Options,
    wake: Option<Time>,
    starts: u64,
    pub trace: Trace,
    walk: Walk,
    /// The application ends what it has open.
    finishing: bool,
    /// How much rarer than usual faults are.
    pub calm: usize,
    /// When the log last refused something.
    refused: Time,
}

impl World {
    /// A world whose size and settings are the first choices of the tape.
    pub fn new(tape: Vec<u16>, options: Options) -> Self {
        let mut source = Source::new(tape);
        let now = Now {
            monotonic: Time::from_micros(1_000_000),
            unix_ms: 1_700_000_000_000,
        };
        let count = 2 + source.pick(2);
        let calm = [1, 3, 8][source.pick(3)];
        let config = settings::config(&mut source, count);
        let brokers: Vec<Broker> = (0..count).map(|_| settings::broker(&mut source)).collect();
        let owns = settings::owns(&mut source, &brokers);
        let ledger = Ledger::new();
        let coordinator = start(&config, ledger, now, options);
        let mut world = Self {
            source,
            now,
            faults: options.faults,
            brokers,
            late: Vec::new(),
            log: Log::default(),
            driver: Driver::default(),
            coordinator,
            app: App {
                owns,
                ..App::default()
            },
            enlisting: BTreeSet::new(),
            oracle: Oracle::default(),
            recovered: false,
            stopped: false,
            config,
            options,
            wake: None,
            starts: 1,
            trace: Trace::new(options.trace),
            walk: Walk::default(),
            finishing: true,
            calm,
            refused: Time::ZERO,
        };
        world.drain();
        world
    }

    /// A line of the trace, if one is wanted.
    pub fn note(&self, line: impl FnOnce() -> String) {
        let at_ms = self.now.monotonic.as_micros() / 1000;
        self.trace.note(|| format!("{at_ms:>8} {}", line()));
    }

    /// Runs the whole history: the tape's faults, then healing, then judgement.
    pub fn run(&mut self) -> Summary {
        let faults = self.faults;
        while !self.source.is_spent() {
            self.step();
        }
        self.heal();
        self.judge();
        if !faults {
            self.oracle.judge_without_faults();
        }
        for broker in &mut self.brokers {
            broker.ceiling_ms = CEILINGS_MS[0];
        }
        self.prove_usable();
        self.summary()
    }

    fn summary(&self) -> Summary {
        let count = |wanted| {
            let accounts = self.oracle.accounts.values();
            accounts
                .filter(|account| account.told == Some(wanted))
                .count() as u64
        };
        Summary {
            committed: count(oracle::Told::Committed),
            aborted: count(oracle::Told::Aborted),
            in_doubt: count(oracle::Told::InDoubt),
            mixed: count(oracle::Told::Mixed),
            starts: self.starts,
        }
    }

    fn step(&mut self) {
        match self.source.pick(32) {
            0..=10 => {
                self.app_step();
                self.hurt();
            }
            11..=16 => self.repeat(4, Self::run_some),
            17..=22 => self.repeat(4, Self::answer_some),
            23 | 24 => self.repeat(3, Self::sync_some),
            25 => self.pass_time(),
            26 => self.tick_brokers(),
            27 if self.trouble(4) => self.deliver_late(),
            28 => self.flush(),
            29 if self.trouble(3) => self.trouble_cluster(),
            30 if self.trouble(5) => self.restart(),
            31 if self.trouble(2) => self.operate(),
            _ => self.coordinator_times_out(),
        }
        if self.stopped {
            self.restart();
        }
    }

    /// Faults where they hurt: a late request meets what was just opened, and a crash loses what is lazy.
    fn hurt(&mut self) {
        let meets = |(p, call): &(usize, Call)| {
            let broker = &self.brokers[*p];
            broker.up
                && broker
                    .open_tag(call.id())
                    .is_some_and(|tag| call.intent() != Some(tag))
        };
        let met = self.late.iter().position(meets);
        if let Some(index) = met.filter(|_| self.source.pick(3) == 2) {
            self.arrive(index);
        }
        if !self.log.is_idle() && !self.log.is_wanted() && self.trouble(8) {
            self.restart();
        }
    }

    /// Once in so many times, and more seldom in a calm history.
    fn trouble(&mut self, times: usize) -> bool {
        let times = times * self.calm;
        self.faults && self.source.pick(times) == times - 1
    }

    fn repeat(&mut self, most: usize, step: fn(&mut Self)) {
        for _ in 0..=self.source.pick(most) {
            step(self);
        }
    }

    /// All that is under way comes to an end, for better or worse.
    fn flush(&mut self) {
        for _ in 0..self.driver.outstanding.len() {
            self.run_some();
        }
        while self.log.is_wanted() {
            self.sync_some();
        }
        while !self.driver.responses.is_empty() {
            self.answer_some();
        }
    }

    fn run_some(&mut self) {
        if !self.driver.outstanding.is_empty() {
            let index = self.source.pick(self.driver.outstanding.len());
            self.run_action(index);
        }
    }

    /// Delivers a response, in any order; now and then twice.
    fn answer_some(&mut self) {
        if self.driver.responses.is_empty() {
            return;
        }
        let index = self.source.pick(self.driver.responses.len());
        let (id, response) = self.driver.responses.remove(index);
        self.note(|| format!("response {id:?} {response:?}"));
        if self.faults && self.source.pick(16) == 15 {
            let again = response.clone();
            self.coordinator.handle_response(id, again, self.now);
            self.drain();
        }
        self.coordinator.handle_response(id, response, self.now);
        self.drain();
    }

    fn sync_some(&mut self) {
        if !self.log.is_wanted() && self.source.pick(16) != 15 {
            return;
        }
        let how = match self.source.pick(32 * self.calm) {
            29 | 30 if self.faults => Sync::Refused,
            31 if self.trouble(2) => {
                [Sync::Fenced, Sync::Unknown(false), Sync::Unknown(true)][self.source.pick(3)]
            }
            _ => Sync::Durable,
        };
        self.sync_log(how);
    }

    fn sync_log(&mut self, how: Sync) {
        if how == Sync::Refused {
            self.refused = self.now.monotonic;
        }
        if let Some((id, response)) = self.log.sync_one(how) {
            self.note(|| format!("log: {id:?} {response:?}"));
            self.oracle.after_write(&self.log, &self.brokers);
            self.driver.responses.push((id, response));
        }
    }

    fn pass_time(&mut self) {
        let choice = self.source.pick(8);
        let us = match choice {
            _ if !self.faults => 5_000,
            0..=3 => 5_000,
            4 | 5 => 500_000,
            6 => 7_000_000,
            _ => 30_000_000,
        };
        self.advance(Duration::from_micros(us));
    }

    fn advance(&mut self, by: Duration) {
        self.now.monotonic = self.now.monotonic + by;
        self.now.unix_ms += by.as_millis() as u64;
        self.tick_brokers();
        if self.wake.is_some_and(|wake| wake <= self.now.monotonic) {
            self.coordinator_times_out();
        }
    }

    fn coordinator_times_out(&mut self) {
        self.coordinator.handle_timeout(self.now);
        self.drain();
    }

    fn tick_brokers(&mut self) {
        for broker in &mut self.brokers {
            broker.tick(self.now.monotonic.as_micros());
        }
    }

    fn deliver_late(&mut self) {
        let index = self.source.pick(self.late.len());
        if index < self.late.len() && self.brokers[self.late[index].0].up {
            self.arrive(index);
        }
    }

    fn arrive(&mut self, index: usize) {
        let (p, call) = self.late.remove(index);
        self.note(|| "late:".into());
        self.execute(p, &call);
    }

    fn trouble_cluster(&mut self) {
        let p = self.source.pick(self.brokers.len());
        match self.source.pick(8) {
            5 | 6 => self.expire_ids(p),
            7 => self.brokers[p].ceiling_ms = CEILINGS_MS[self.source.pick(2)],
            _ => self.toggle_cluster(p),
        }
    }

    /// Seven days of silence: what the coordinator could do with this cluster is done.
    fn expire_ids(&mut self, p: usize) {
        while !self.log.is_idle() {
            self.sync_log(Sync::Durable);
        }
        self.brokers[p].up = true;
        for _ in 0..8 {
            for _ in 0..self.driver.outstanding.len() {
                self.run_some();
            }
            while !self.driver.responses.is_empty() {
                self.answer_some();
            }
            self.advance(Duration::from_millis(600));
            while !self.log.is_idle() {
                self.sync_log(Sync::Durable);
            }
        }
        while !self.driver.responses.is_empty() {
            self.answer_some();
        }
        let quiet = self.driver.outstanding.is_empty()
            && self.driver.responses.is_empty()
            && self.log.is_idle()
            && self.now.monotonic.saturating_since(self.refused) > Duration::from_secs(3);
        let name = format!("p{p}");
        let ending = self.coordinator.list().into_iter().any(|view| {
            let mut here = view
                .branches
                .iter()
                .filter(|branch| branch.participant == name);
            here.any(|branch| branch.state == "ending")
        });
        if quiet && !ending && self.recovered && self.brokers[p].up {
            self.note(|| format!("cluster {p} forgets its idle ids"));
            // No request is under way for a week.
            self.late.clear();
            self.advance(Duration::from_secs(8 * 24 * 3600));
            if self.source.pick(2) == 1 {
                self.restart();
            }
        }
    }

    fn toggle_cluster(&mut self, p: usize) {
        let broker = &mut self.brokers[p];
        broker.up = !broker.up;
        let up = broker.up;
        self.note(|| format!("cluster {p} is up: {up}"));
    }

    /// kill -9, of the process or of its machine, and a new start on what the log kept.
    fn restart(&mut self) {
        self.note(|| "crash".into());
        self.lose_driver();
        self.log.crash(&mut self.source);
        self.lose_coordinator();
        self.oracle.after_write(&self.log, &self.brokers);
        let ledger = self.log.replay();
        self.walk = Walk::default();
        self.recovered = false;
        self.stopped = false;
        self.starts += 1;
        self.coordinator = start(&self.config, ledger, self.now, self.options);
        self.drain();
    }

    fn operate(&mut self) {
        let views = self.coordinator.list();
        let index = self.source.pick(views.len());
        let Some(view) = views.get(index) else {
            return;
        };
        let (id, state) = (view.id, view.state);
        let request = match (state, self.source.pick(3)) {
            (TransactionState::Mixed, _) => Request::Forget { transaction: id },
            (_, 0) => Request::Resolve {
                transaction: id,
                decision: Decision::Commit,
            },
            (_, 1) => Request::Resolve {
                transaction: id,
                decision: Decision::Abort,
            },
            _ => return,
        };
        if state == TransactionState::InDoubt {
            self.oracle.account(id).by_operator = true;
        }
        let result = self.coordinator.handle_request(request.clone(), self.now);
        self.note(|| format!("operator {request:?} -> {result:?}"));
        self.drain();
    }

    /// Step, then drain.
    pub fn drain(&mut self) {
        loop {
            match self.coordinator.poll_output() {
                Output::Action(
                    id,
                    Action::Append {
                        records,
                        durability,
                    },
                ) => {
                    self.note(|| format!("append {id:?} {records:?}"));
                    self.watch_decisions(&records);
                    self.log.append(id, records.to_vec(), durability);
                }
                Output::Action(id, Action::Checkpoint { snapshot }) => {
                    self.note(|| format!("checkpoint {id:?}"));
                    self.log.checkpoint(id, snapshot);
                }
                Output::Action(id, action) => self.driver.outstanding.push((id, action)),
                Output::Event(event) => self.hear(event),
                Output::Wait(wake, _) => {
                    self.wake = wake;
                    self.walk.follow(&self.coordinator);
                    return;
                }
            }
        }
    }

    fn watch_decisions(&self, records: &[Record]) {
        for record in records {
            if let Record::Decided { transaction, .. } = record {
                let now_us = self.now.monotonic.as_micros();
                self.oracle.deciding(*transaction, now_us, &self.brokers);
            }
        }
    }
}

/// A start of the coordinator on what its log holds.
#[cfg_attr(
    not(feature = "broken"),
    expect(unused_variables, reason = "all rules hold")
)]
fn start(config: &Config, ledger: Ledger, now: Now, options: Options) -> Coordinator {
    let config = config.clone();
    #[cfg(feature = "broken")]
    if let Some(rule) = options.without {
        return Coordinator::with_broken(config, ledger, now, rule).expect("valid");
    }
    Coordinator::new(config, ledger, now).expect("valid")
}
