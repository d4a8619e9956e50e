//! Plays a scenario on the core and writes down what goes in and what comes out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gtc_core::{
    Accepted, Action, ActionId, Backoff, CommitReturn, Config, Coordinator, Event, GivesWay,
    Ledger, Limits, LogId, Now, ParticipantConfig, ParticipantId, Record, Refusal, Request,
    Response, SlotId, Time, TransactionId, VersionClass,
};

use crate::cluster::{Clusters, TIMEOUT_MS};
use crate::coverage::{Coverage, Walk};
use crate::line::{Answer, Drained, FORMAT, Header, Input, Line};
use crate::{Recording, Scenario};

pub(crate) const EU: u16 = 0;
pub(crate) const US: u16 = 1;

/// What a scenario begins with.
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) log: Vec<Record>,
    pub(crate) clusters: Clusters,
}

impl Default for Setup {
    fn default() -> Self {
        let participant = |name: &str| ParticipantConfig {
            name: name.into(),
            slots_max: 2,
            timeout_ms: TIMEOUT_MS,
            margin: Duration::from_secs(10),
            gives_way: GivesWay::Nothing,
            names_max: 100,
        };
        Self {
            config: Config {
                coordinator: "orders".into(),
                log_id: LogId(0xab),
                participants: vec![participant("eu"), participant("us")],
                limits: Limits {
                    names_per_record: 4,
                    ..Limits::default()
                },
                backoff: Backoff::default(),
                seed: 1,
            },
            log: Vec::new(),
            clusters: Clusters::default(),
        }
    }
}

/// A scenario under way.
pub(crate) struct Play {
    pub(crate) clusters: Clusters,
    pub(crate) events: Vec<Event>,
    /// The names of all actions so far.
    pub(crate) asked: Vec<&'static str>,
    coordinator: Coordinator,
    now: Now,
    open: Vec<(ActionId, Action)>,
    /// The transactional.id of each slot.
    slots: BTreeMap<(ParticipantId, SlotId), Arc<str>>,
    lines: Vec<String>,
    walk: Walk,
    coverage: Coverage,
}

impl Play {
    pub(crate) fn start(scenario: &Scenario, setup: Setup) -> Self {
        let hex = |record: &Record| -> String {
            let bytes = record.encode();
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let header = Header {
            format: FORMAT,
            name: scenario.name,
            story: scenario.story,
            config: &setup.config,
            log: setup.log.iter().map(hex).collect(),
        };
        let lines = vec![serde_json::to_string(&header).expect("plain")];
        let mut ledger = Ledger::new();
        for record in setup.log {
            ledger.apply(record).expect("in order");
        }
        let now = Now {
            monotonic: Time::from_micros(1_000_000),
            unix_ms: 1_700_000_000_000,
        };
        let coordinator = Coordinator::new(setup.config, ledger, now).expect("valid");
        let mut play = Self {
            clusters: setup.clusters,
            events: Vec::new(),
            asked: Vec::new(),
            coordinator,
            now,
            open: Vec::new(),
            slots: BTreeMap::new(),
            lines,
            walk: Walk::default(),
            coverage: Coverage::default(),
        };
        play.write(Input::Start);
        play
    }

    pub(crate) fn end(mut self, name: &'static str) -> Recording {
        for line in &self.lines {
            let value = serde_json::from_str(line).expect("it was written here");
            self.coverage.read(&value);
        }
        Recording {
            name,
            lines: self.lines,
            coverage: self.coverage,
        }
    }

    /// Drains the core and writes the line of what was just put in.
    fn write(&mut self, input: Input<'_>) {
        let output = Drained::of(&mut self.coordinator);
        let line = Line {
            now: self.now,
            input,
            output: &output,
        };
        self.lines
            .push(serde_json::to_string(&line).expect("plain"));
        self.walk.follow(&self.coordinator, &mut self.coverage);
        for asked in output.actions {
            self.asked.push(asked.action.name());
            if let Action::OpenSlot {
                participant,
                slot,
                transactional_id,
                ..
            } = &asked.action
            {
                self.slots
                    .insert((*participant, *slot), transactional_id.clone());
            }
            self.open.push((asked.id, asked.action));
        }
        for event in &output.events {
            self.walk.hear(event, &mut self.coverage);
        }
        self.events.extend(output.events);
    }

    /// Asks for something.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Accepted, Refusal> {
        let answer = self.coordinator.handle_request(request.clone(), self.now);
        self.write(Input::Request {
            request: &request,
            result: match &answer {
                Ok(accepted) => Answer::Accepted(accepted),
                Err(refusal) => Answer::Refused(refusal),
            },
        });
        answer
    }

    pub(crate) fn request(&mut self, request: Request) -> Accepted {
        self.ask(request).expect("accepted")
    }

    pub(crate) fn refused(&mut self, request: Request) -> Refusal {
        self.ask(request).expect_err("refused")
    }

    /// Answers the oldest open action of this name.
    pub(crate) fn answer(&mut self, name: &str, response: Response) -> ActionId {
        self.answer_where(|action| action.name() == name, response)
            .unwrap_or_else(|| panic!("no open {name}: {:?}", self.open))
    }

    /// Answers the oldest open action of this name on a participant.
    pub(crate) fn answer_on(&mut self, (p, name): (u16, &str), response: Response) -> ActionId {
        let there = |action: &Action| {
            action.name() == name && action.participant() == Some(ParticipantId(p))
        };
        self.answer_where(there, response)
            .unwrap_or_else(|| panic!("no open {name}: {:?}", self.open))
    }

    fn answer_where(
        &mut self,
        wanted: impl Fn(&Action) -> bool,
        response: Response,
    ) -> Option<ActionId> {
        let index = self.open.iter().position(|(_, action)| wanted(action))?;
        let (id, _) = self.open.remove(index);
        self.respond(id, response);
        Some(id)
    }

    /// Hands a response in, whatever it is to.
    pub(crate) fn respond(&mut self, to: ActionId, response: Response) {
        self.coordinator
            .handle_response(to, response.clone(), self.now);
        self.write(Input::Response {
            to,
            response: &response,
        });
    }

    /// Answers everything as healthy clusters do, until nothing is open.
    pub(crate) fn settle(&mut self) {
        self.settle_but(|_| false);
    }

    /// As [`Play::settle`], but leaves some actions without an answer.
    pub(crate) fn settle_but(&mut self, leave: impl Fn(&Action) -> bool) {
        while let Some(index) = self.open.iter().position(|(_, action)| !leave(action)) {
            let (id, action) = self.open.remove(index);
            let written = match &action {
                Action::EndByWriter {
                    participant, slot, ..
                } => self.slots.get(&(*participant, *slot)),
                _ => None,
            };
            let response = self.clusters.answer(&action, written);
            self.respond(id, response);
        }
    }

    /// Answers one open action of this name as healthy clusters do.
    pub(crate) fn settle_one(&mut self, name: &str) {
        let index = self
            .open
            .iter()
            .position(|(_, action)| action.name() == name);
        let index = index.unwrap_or_else(|| panic!("no open {name}: {:?}", self.open));
        let (id, action) = self.open.remove(index);
        let response = self.clusters.answer(&action, None);
        self.respond(id, response);
    }

    /// The names of the open actions.
    pub(crate) fn open(&self) -> Vec<&'static str> {
        self.open.iter().map(|(_, action)| action.name()).collect()
    }

    /// Time passes, and the core is told.
    pub(crate) fn pass(&mut self, span: Duration) {
        self.now.monotonic = self.now.monotonic + span;
        self.now.unix_ms += u64::try_from(span.as_millis()).expect("short");
        self.coordinator.handle_timeout(self.now);
        self.write(Input::Timeout);
    }

    /// A commit's request.
    pub(crate) fn commit(&mut self, transaction: TransactionId) {
        self.request(Request::Commit {
            transaction,
            report: CommitReturn::Acknowledged,
        });
    }

    pub(crate) fn begin(&mut self) -> TransactionId {
        self.begin_with(None, None)
    }

    pub(crate) fn begin_with(
        &mut self,
        key: Option<&[u8]>,
        timeout: Option<Duration>,
    ) -> TransactionId {
        let key = key.map(<[u8]>::to_vec);
        match self.request(Request::Begin { key, timeout }) {
            Accepted::Begun(id) => id,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn enlist(&mut self, transaction: TransactionId, p: u16) {
        self.request(Request::Enlist {
            transaction,
            participant: ParticipantId(p),
        });
    }

    pub(crate) fn enlist_own(
        &mut self,
        transaction: TransactionId,
        name: &str,
        class: VersionClass,
    ) {
        self.request(Request::EnlistOwn {
            transaction,
            participant: ParticipantId(EU),
            transactional_id: name.into(),
            version_class: class,
            producer: None,
        });
    }

    /// Begins a transaction and enlists both participants, with all answers.
    pub(crate) fn begin_on_both(&mut self) -> TransactionId {
        let id = self.begin();
        self.enlist(id, EU);
        self.enlist(id, US);
        self.settle();
        id
    }

    /// The transactional.id of a slot.
    pub(crate) fn slot_name(&self, p: u16, slot: u32) -> Arc<str> {
        self.slots[&(ParticipantId(p), SlotId(slot))].clone()
    }

    /// Whether such an event came.
    pub(crate) fn told(&self, wanted: impl Fn(&Event) -> bool) {
        assert!(self.events.iter().any(wanted), "{:?}", self.events);
    }
}
