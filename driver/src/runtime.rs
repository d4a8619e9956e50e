//! The engine: feeds the core, runs what comes out, and wakes who waits.
//!
//! The core stands behind one lock. Every step feeds it once and drains it under that lock:
//! appends are submitted to the log in the order of the outputs, all other actions become tasks
//! at once, events reach their callers. No step blocks.

mod act;
pub(crate) mod clock;
mod own;
mod pulse;
mod session;
mod timer;
mod trace;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use gtc_core::{
    Accepted, ActionId, CommitReturn, Decision, Event, Output, ParticipantId, Refusal, Request,
    Response, StopReason, Time, TransactionId,
};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::arguments::Flaw;
use crate::config::Limits;
use crate::log::DecisionLog;
use crate::own::OwnProducer;
use crate::participant::Participant;
pub(crate) use own::Deliveries;
use own::OwnBranches;
pub(crate) use session::{BranchKey, Enlistment, Progress, Standing};
use trace::Trace;

/// A name and what acts for it; the index is the core's [`ParticipantId`].
pub(crate) type Named = (Arc<str>, Arc<dyn Participant>);

/// What an engine is made of.
pub(crate) struct Parts {
    pub(crate) core: gtc_core::Coordinator,
    pub(crate) log: Arc<dyn DecisionLog>,
    pub(crate) participants: Vec<Named>,
    pub(crate) limits: Limits,
}

/// The engine of one coordinator.
pub(crate) struct Engine {
    state: Mutex<State>,
    log: Arc<dyn DecisionLog>,
    participants: Vec<Named>,
    limits: Limits,
    own: OwnBranches,
    standing: watch::Sender<Standing>,
    wake_at: watch::Sender<Option<Time>>,
    runtime: Handle,
}

/// Who waits for something to happen to a transactional.id.
type Waiting<T> = HashMap<(ParticipantId, Arc<str>), Vec<oneshot::Sender<T>>>;

struct State {
    core: gtc_core::Coordinator,
    sessions: HashMap<TransactionId, watch::Sender<Progress>>,
    settling: Waiting<()>,
    /// The answer is the error, for people.
    resolving: Waiting<Option<String>>,
    trace: Trace,
    /// Given up: responses that still arrive are dropped.
    closed: bool,
}

impl Engine {
    /// Starts the engine on the current runtime. `replayed` is what the log held.
    pub(crate) fn start(parts: Parts, replayed: &[gtc_core::Record]) -> Arc<Self> {
        let names = parts.participants.iter().map(|(name, _)| name.clone());
        let mut trace = Trace::new(names.collect());
        replayed.iter().for_each(|record| trace.record(record));
        trace::start_phase("recovering", parts.core.list().len());
        let state = State {
            core: parts.core,
            sessions: HashMap::new(),
            settling: HashMap::new(),
            resolving: HashMap::new(),
            trace,
            closed: false,
        };
        let engine = Arc::new(Self {
            state: Mutex::new(state),
            log: parts.log,
            standing: watch::Sender::new(Standing::new(parts.participants.len())),
            participants: parts.participants,
            limits: parts.limits,
            own: OwnBranches::default(),
            wake_at: watch::Sender::new(None),
            runtime: Handle::current(),
        });
        engine.with(|engine, state| engine.drain(state));
        timer::start(&engine);
        pulse::start(&engine);
        engine
    }

    pub(crate) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn participants(&self) -> &[Named] {
        &self.participants
    }

    /// Reads the core.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&gtc_core::Coordinator) -> R) -> R {
        read(&self.lock().core)
    }

    /// Begins a transaction, and opens the view of its progress.
    pub(crate) fn begin(
        self: &Arc<Self>,
        request: Request,
    ) -> Result<(TransactionId, watch::Receiver<Progress>), Refusal> {
        self.with(|engine, state| {
            let accepted = state.core.handle_request(request, clock::now());
            let begun = accepted.and_then(|accepted| match accepted {
                Accepted::Begun(id) => {
                    let sender = watch::Sender::new(Progress::default());
                    let receiver = sender.subscribe();
                    state.sessions.insert(id, sender);
                    state.trace.begun(id);
                    Ok((id, receiver))
                }
                other => Err(Refusal::InvalidState(format!("begin answered {other:?}"))),
            });
            engine.drain(state);
            begun
        })
    }

    /// Asks for a slot, unless one is leased or asked for already. The progress tells the rest.
    pub(crate) fn enlist(
        self: &Arc<Self>,
        transaction: TransactionId,
        participant: ParticipantId,
    ) -> Result<(), Refusal> {
        let request = Request::Enlist {
            transaction,
            participant,
        };
        self.enlist_as((participant, None), request, transaction)
    }

    /// Takes an own producer in, and begins to count its deliveries.
    pub(crate) fn enlist_own(
        self: &Arc<Self>,
        transaction: TransactionId,
        participant: ParticipantId,
        producer: OwnProducer,
    ) -> Result<Arc<Deliveries>, Refusal> {
        let transactional_id = producer.transactional_id.clone();
        let request = producer.request(transaction, participant);
        let key = (participant, Some(transactional_id.clone()));
        self.enlist_as(key, request, transaction)?;
        Ok(self.own.open(transaction, participant, transactional_id))
    }

    fn enlist_as(
        self: &Arc<Self>,
        key: BranchKey,
        request: Request,
        transaction: TransactionId,
    ) -> Result<(), Refusal> {
        let (participant, shared) = (key.0, key.1.is_none());
        self.with(|engine, state| {
            let Some(session) = state.sessions.get(&transaction) else {
                return Err(Refusal::UnknownTransaction(transaction));
            };
            let known = session.borrow().branch(&key).cloned();
            match known {
                Some(Enlistment::Waiting | Enlistment::Ready(Some(_))) if shared => return Ok(()),
                _ => {}
            }
            let accepted = state.core.handle_request(request, clock::now());
            if accepted.is_ok() {
                session.send_modify(|progress| {
                    progress.set_branch(key.clone(), Enlistment::Waiting);
                });
                state.trace.asked_to_enlist((transaction, participant));
            }
            engine.drain(state);
            if shared && state.is_waiting(transaction, &key) {
                state.trace.waits_for_slot(participant);
            }
            accepted.map(drop)
        })
    }

    pub(crate) fn commit(
        self: &Arc<Self>,
        transaction: TransactionId,
        report: CommitReturn,
    ) -> Result<(), Refusal> {
        let request = Request::Commit {
            transaction,
            report,
        };
        self.with(|engine, state| {
            state.trace.asked_to_commit(transaction);
            let accepted = state.core.handle_request(request, clock::now());
            engine.drain(state);
            accepted.map(drop)
        })
    }

    /// Any other request.
    pub(crate) fn request(self: &Arc<Self>, request: Request) -> Result<Accepted, Refusal> {
        self.with(|engine, state| {
            let accepted = state.core.handle_request(request, clock::now());
            engine.drain(state);
            accepted
        })
    }

    /// Resolves when no promised branch of this own producer is left; an error of the receiver
    /// means that the coordinator ended before.
    pub(crate) fn settle(
        self: &Arc<Self>,
        participant: ParticipantId,
        transactional_id: &Arc<str>,
    ) -> Result<oneshot::Receiver<()>, Refusal> {
        let request = Request::Settle {
            participant,
            transactional_id: transactional_id.clone(),
        };
        let (sender, receiver) = oneshot::channel();
        self.with(|engine, state| {
            let accepted = state.core.handle_request(request, clock::now())?;
            if accepted == Accepted::Done {
                // The receiver is in this function.
                let _ = sender.send(());
            } else {
                let key = (participant, transactional_id.clone());
                state.settling.entry(key).or_default().push(sender);
            }
            engine.drain(state);
            Ok(receiver)
        })
    }

    /// Ends an open branch of another log. Resolves with the error, if the attempt failed.
    pub(crate) fn resolve_foreign(
        self: &Arc<Self>,
        branch: (ParticipantId, Arc<str>),
        decision: Decision,
    ) -> Result<oneshot::Receiver<Option<String>>, Refusal> {
        let request = Request::ResolveForeign {
            participant: branch.0,
            transactional_id: branch.1.clone(),
            decision,
        };
        let (sender, receiver) = oneshot::channel();
        self.with(|engine, state| {
            state.core.handle_request(request, clock::now())?;
            state.resolving.entry(branch).or_default().push(sender);
            engine.drain(state);
            Ok(receiver)
        })
    }

    /// Gives everything up: nothing more is fed to the core, and who waits is told.
    pub(crate) fn abandon(self: &Arc<Self>) {
        self.with(|engine, state| engine.give_up(state));
    }

    fn respond(self: &Arc<Self>, id: ActionId, response: Response) {
        self.with(|engine, state| {
            state.core.handle_response(id, response, clock::now());
            engine.drain(state);
        });
    }

    fn with<R>(self: &Arc<Self>, step: impl FnOnce(&Arc<Self>, &mut State) -> R) -> R {
        step(self, &mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // A step panicked: what the core holds is no base for a promise any more.
            let mut state = poisoned.into_inner();
            self.give_up(&mut state);
            state
        })
    }

    fn drain(self: &Arc<Self>, state: &mut State) {
        loop {
            if state.closed {
                return;
            }
            match state.core.poll_output() {
                Output::Action(id, action) => self.act(state, id, action),
                Output::Event(event) => self.tell(state, event),
                Output::Wait(deadline, _) => {
                    self.wake_at.send_if_modified(|current| {
                        std::mem::replace(current, deadline) != deadline
                    });
                    return;
                }
            }
        }
    }

    /// Before the vote reaches the core, so that the caller knows it with the outcome.
    fn note_never_accepted(&self, transaction: TransactionId, flaw: Flaw) {
        self.lock().update(transaction, |progress| {
            progress.never_accepted.get_or_insert(flaw);
        });
    }

    fn give_up(&self, state: &mut State) {
        state.closed = true;
        state.sessions.clear();
        state.settling.clear();
        state.resolving.clear();
        self.standing.send_if_modified(|standing| {
            let told = standing.stopped.is_some();
            standing.stopped.get_or_insert(StopReason::Closed);
            !told
        });
    }

    fn tell(&self, state: &mut State, event: Event) {
        state.trace.event(&event);
        match event {
            Event::Started => self
                .standing
                .send_modify(|standing| standing.started = true),
            Event::Recovered => self
                .standing
                .send_modify(|standing| standing.recovered = true),
            Event::Drained => self
                .standing
                .send_modify(|standing| standing.drained = true),
            Event::Stopped(reason) => {
                self.standing
                    .send_modify(|standing| standing.stopped = Some(reason));
                state.settling.clear();
                state.resolving.clear();
            }
            Event::Participant(participant, status) => self.standing.send_modify(|standing| {
                if let Some(known) = standing.participants.get_mut(usize::from(participant.0)) {
                    *known = status;
                }
            }),
            Event::Settled {
                participant,
                transactional_id,
            } => {
                release(&mut state.settling, (participant, transactional_id), &());
            }
            Event::ForeignResolved {
                participant,
                transactional_id,
                error,
            } => release(
                &mut state.resolving,
                (participant, transactional_id),
                &error,
            ),
            other => self.tell_session(state, other),
        }
    }

    fn tell_session(&self, state: &mut State, event: Event) {
        match event {
            Event::Enlisted {
                transaction,
                participant,
                slot,
                transactional_id,
            } => {
                if let (Some(slot), Some((_, driver))) =
                    (slot, self.participants.get(usize::from(participant.0)))
                {
                    driver.lease(slot, transaction);
                }
                let own = slot.is_none().then_some(transactional_id);
                state.update(transaction, |progress| {
                    progress.set_branch((participant, own), Enlistment::Ready(slot));
                });
            }
            Event::EnlistRefused {
                transaction,
                participant,
                own,
                refusal,
            } => state.update(transaction, |progress| {
                progress.set_branch((participant, own), Enlistment::Refused(refusal));
            }),
            Event::Decided(transaction) => {
                state.update(transaction, |progress| progress.decided = true);
            }
            Event::OwnReleased {
                transaction,
                participant,
                transactional_id,
                reuse,
            } => {
                state.update(transaction, |progress| {
                    progress.release((participant, Some(transactional_id)), reuse);
                });
                state.forget_told(transaction);
            }
            Event::Ended {
                transaction,
                outcome,
            } => {
                state.update(transaction, |progress| progress.outcome = Some(outcome));
                state.forget_told(transaction);
                self.own.end(transaction);
            }
            _ => {}
        }
    }
}

impl State {
    fn update(&self, transaction: TransactionId, change: impl FnOnce(&mut Progress)) {
        if let Some(session) = self.sessions.get(&transaction) {
            session.send_modify(change);
        }
    }

    /// Forgets a session that nothing more can be told of.
    fn forget_told(&mut self, transaction: TransactionId) {
        let session = self.sessions.get(&transaction);
        if session.is_some_and(|session| session.borrow().is_told()) {
            self.sessions.remove(&transaction);
        }
    }

    fn is_waiting(&self, transaction: TransactionId, key: &BranchKey) -> bool {
        self.sessions
            .get(&transaction)
            .is_some_and(|session| session.borrow().branch(key) == Some(&Enlistment::Waiting))
    }
}

fn release<T: Clone>(waiting: &mut Waiting<T>, key: (ParticipantId, Arc<str>), answer: &T) {
    for sender in waiting.remove(&key).into_iter().flatten() {
        // A receiver that is gone no longer wants to know.
        let _ = sender.send(answer.clone());
    }
}
