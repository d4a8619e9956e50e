//! A small world around the core: clusters, logs, drivers, applications and an oracle, all from one seed.

pub mod account;
pub mod app;
mod clusters;
mod copies;
mod drain;
pub mod driver;
mod heal;
mod hurt;
pub mod log;
pub mod network;
pub mod oracle;
pub mod process;
mod settings;
mod stranger;
mod trace;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gtc_core::{Decision, LogId, Now, Request, Time, TransactionState};

use crate::model::broker::{Broker, Call};
use crate::plan::Plan;
use crate::run::Options;
use crate::source::Source;
use crate::swarm::{Fault, Swarm};
use account::Told;
use app::job::Job;
use log::Log;
use network::Link;
use oracle::Oracle;
use process::{Process, Role};
use trace::Trace;

/// How long before its time-out a branch is no longer promised.
pub const MARGIN: Duration = Duration::from_secs(10);

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
    /// Results of a consume-transform-produce job, committed with their offsets.
    pub results: u64,
}

impl Summary {
    /// Adds those of another history.
    pub fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.in_doubt += other.in_doubt;
        self.mixed += other.mixed;
        self.starts += other.starts;
        self.results += other.results;
    }
}

/// The world.
pub struct World {
    pub source: Source,
    pub swarm: Swarm,
    pub options: Options,
    pub now: Now,
    pub faults: bool,
    pub brokers: Vec<Broker>,
    pub links: Vec<Link>,
    /// Requests that arrive some time later.
    pub late: Vec<(usize, Call)>,
    pub logs: Vec<Log>,
    /// The process whose turn it is.
    pub process: Process,
    /// Zombies, and the owner of a second log.
    pub others: Vec<Process>,
    pub oracle: Oracle,
    pub trace: Trace,
    /// The application ends what it has open.
    pub finishing: bool,
    /// A cluster was restored from a backup.
    pub restored: bool,
    /// Names of slots that a stranger has initialised.
    strange: BTreeSet<(usize, Arc<str>)>,
    /// The process has read an old copy of its log.
    on_copy: bool,
    serial: u64,
    starts: u64,
    backups: Vec<Option<Broker>>,
    copy: Option<Log>,
}

impl World {
    /// A world whose size and settings are the first choices of its seed.
    pub fn new(plan: &Plan, options: Options) -> Self {
        let mut source = Source::new(plan.seed);
        let mut swarm = Swarm::choose(&mut source);
        swarm.mute(plan.muted);
        if !options.faults {
            // Who says nothing of his deliveries commits nothing.
            swarm.mute(1 << Fault::OwnSilent as u64);
        }
        let now = Now {
            monotonic: Time::from_micros(1_000_000),
            unix_ms: 1_700_000_000_000,
        };
        let count = 2 + source.pick(2);
        let log_id = LogId(0xfeed);
        let config = settings::config(&mut source, count, log_id);
        let brokers: Vec<Broker> = (1..=count)
            .map(|number| settings::broker(&mut source, swarm).with_ids_from(number as i64 * 1000))
            .collect();
        let mut logs = vec![Log::default()];
        let ledger = logs[0].own(1);
        let mut process = Process::start((1, 0), config.clone(), ledger, (now, options));
        process.app.owns = settings::owns(&mut source, &brokers, swarm);
        process.app.job = Job::new(source.pick(count), 0);
        process.app.job.destination = (process.app.job.source + 1) % count;
        let mut others = Vec::new();
        if swarm.has(Fault::Rival) && options.faults && source.once_in(2) {
            let mut config = config;
            config.log_id = LogId(0xbad);
            let mut log = Log::rival();
            let ledger = log.own(2);
            logs.push(log);
            let mut rival = Process::start((2, 1), config, ledger, (now, options));
            rival.app.job = process.app.job.clone();
            others.push(rival);
        }
        let mut world = Self {
            source,
            swarm,
            options,
            now,
            faults: options.faults,
            links: vec![Link::default(); count],
            backups: vec![None; count],
            oracle: Oracle::new(count),
            brokers,
            late: Vec::new(),
            logs,
            process,
            others,
            trace: Trace::new(options),
            finishing: true,
            restored: false,
            strange: BTreeSet::new(),
            on_copy: false,
            serial: 2,
            starts: 1,
            copy: None,
        };
        world.drain();
        for index in 0..world.others.len() {
            world.as_other(index, Self::drain);
        }
        world
    }

    /// A line of the trace, for whoever wants every step.
    pub fn note(&self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }

    /// A line of the story, for whoever wants to understand.
    pub fn tell(&self, line: impl FnOnce() -> String) {
        self.trace.tell(self.now, line);
    }

    /// Runs the whole history: the plan's steps, then healing, then judgement.
    pub fn run(&mut self, plan: &Plan) -> Summary {
        self.tell(|| {
            let faults: Vec<&str> = self.swarm.faults().map(Fault::words).collect();
            let count = self.brokers.len();
            format!("{count} clusters; it may happen that {}", faults.join("; "))
        });
        for step in plan.steps(self.swarm.steps) {
            self.source.turn_to(step);
            self.trace.turn_to(step);
            self.step();
        }
        self.heal();
        self.judge();
        if !self.options.faults {
            self.oracle.judge_without_faults();
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
            committed: count(Told::Committed),
            aborted: count(Told::Aborted),
            in_doubt: count(Told::InDoubt),
            mixed: count(Told::Mixed),
            starts: self.starts,
            results: self.brokers[self.process.app.job.source].group.committed(),
        }
    }

    fn step(&mut self) {
        self.step_of_other();
        match self.source.pick(48) {
            0..=16 => {
                self.app_step();
                self.hurt();
            }
            17..=25 => self.repeat(4, Self::run_some),
            26..=33 => self.repeat(4, Self::answer_some),
            34..=36 => self.repeat(3, Self::sync_some),
            37 | 38 => self.pass_time(),
            39 | 40 => self.flush(),
            41 => self.time_out(),
            _ => self.trouble(),
        }
        self.replace_stopped();
    }

    /// Something goes wrong.
    fn trouble(&mut self) {
        if !self.faults || self.source.pick(self.swarm.calm + 1) > 0 {
            return;
        }
        let (fault, happen): (Fault, fn(&mut Self)) = match self.source.pick(12) {
            0 | 1 => (Fault::Delayed, Self::deliver_late),
            2 | 3 => (Fault::Crash, Self::restart),
            4 => (Fault::Zombie, Self::take_over),
            5 => (Fault::Operator, Self::operate),
            6 => (Fault::LogCopy, Self::start_on_copy),
            7 => (Fault::Week, Self::pass_week),
            _ => return self.trouble_cluster(),
        };
        if self.swarm.has(fault) {
            happen(self);
        }
    }

    /// A zombie, or the owner of another log, does something.
    fn step_of_other(&mut self) {
        if self.others.is_empty() || !self.source.once_in(3) {
            return;
        }
        let index = self.source.pick(self.others.len());
        if self.others[index].paused {
            if self.source.once_in(4) {
                self.tell(|| "the paused coordinator comes back".into());
                self.others[index].paused = false;
            }
            return;
        }
        let choice = self.source.pick(6);
        self.as_other(index, |world| match choice {
            0 | 1 => world.app_step(),
            2 => world.repeat(4, Self::run_some),
            3 => world.repeat(4, Self::answer_some),
            4 => world.time_out(),
            _ => world.flush(),
        });
        let rival = self.others[index].role == Role::Owner;
        if rival && self.has(Fault::Crash) && self.source.once_in(20) {
            self.as_other(index, Self::restart);
        }
    }

    /// Faults of this kind happen, and happen now.
    pub fn has(&self, fault: Fault) -> bool {
        self.faults && self.swarm.has(fault)
    }

    fn repeat(&mut self, most: usize, step: fn(&mut Self)) {
        for _ in 0..=self.source.pick(most) {
            step(self);
        }
    }

    fn operate(&mut self) {
        let views = self.process.coordinator.list();
        let index = self.source.pick(views.len());
        let Some(view) = views.get(index) else {
            return;
        };
        let (transaction, state) = (view.id, view.state);
        let decision = [Decision::Commit, Decision::Abort][self.source.pick(2)];
        let request = match state {
            TransactionState::Mixed => Request::Forget { transaction },
            _ => Request::Resolve {
                transaction,
                decision,
            },
        };
        if state == TransactionState::InDoubt {
            self.oracle.account(transaction).by_operator = true;
        }
        self.tell(|| format!("an operator asks: {request:?}"));
        let _ = self.request(request);
        self.drain();
    }
}
