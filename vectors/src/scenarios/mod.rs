//! The scenarios, by subject.

mod commit;
mod decide;
mod doubt;
mod ending;
mod own;
mod own_abort;
mod recovery;
mod slots;
mod start;

use std::time::Duration;

use gtc_core::{
    BrokerState, EndAnswer, Event, Outcome, ParticipantId, ParticipantStatus, PrepareReport,
    ProducerIdentity, Response, TransactionId, WriteReport,
};

use crate::Scenario;
use crate::cluster::described;
use crate::play::{Play, Setup};

type Prepare = fn(&mut Setup);
type Act = fn(&mut Play);

pub(crate) fn all() -> Vec<Scenario> {
    [
        start::all(),
        commit::all(),
        decide::all(),
        ending::all(),
        doubt::all(),
        slots::all(),
        own::all(),
        own_abort::all(),
        recovery::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A scenario that begins with an empty log and two healthy clusters.
fn plain(name: &'static str, story: &'static str, play: Act) -> Scenario {
    with(name, story, (|_| {}, play))
}

/// A scenario that begins as `setup` says.
fn with(name: &'static str, story: &'static str, (setup, play): (Prepare, Act)) -> Scenario {
    Scenario {
        name,
        story,
        play,
        setup,
    }
}

/// One cluster instead of two.
fn alone(setup: &mut Setup) {
    setup.config.participants.truncate(1);
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn ended(play: &Play, id: TransactionId, wanted: &Outcome) {
    play.told(|event| {
        matches!(event, Event::Ended { transaction, outcome } if *transaction == id && outcome == wanted)
    });
}

fn status(play: &Play, p: u16, wanted: fn(&ParticipantStatus) -> bool) {
    play.told(|event| {
        matches!(event, Event::Participant(of, status) if *of == ParticipantId(p) && wanted(status))
    });
}

/// What a branch's writer and its broker say at the vote.
fn vote(writes: WriteReport, broker: Option<(BrokerState, ProducerIdentity)>) -> Response {
    Response::Prepared(PrepareReport {
        writes,
        writer: None,
        inquiry: broker.map(|(state, producer)| described(state, producer)),
        strayed: None,
    })
}

fn no_answer() -> Response {
    Response::Ended(EndAnswer::NoAnswer("timed out".into()))
}

fn code(code: i16) -> Response {
    Response::Ended(EndAnswer::Code(code))
}
