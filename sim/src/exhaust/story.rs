//! A step in words.

use gtc_core::{Action, Decision};

use super::clusters::Passage;
use super::engine::Engine;
use super::state::Scene;
use super::step::{Step, Sync};
use crate::model::broker::Call;

impl Engine {
    /// What happens, in one line.
    pub fn story(&self, scene: &Scene, step: Step) -> String {
        match step {
            Step::Begin { who } => format!(
                "the application of {} begins a transaction and enlists every participant",
                name(scene, who)
            ),
            Step::Write { who, p, passage } => {
                let open = scene.actors[who].local.app.open.as_ref();
                let id = open.map_or_else(String::new, |open| open.id.to_string());
                format!("a record of {id} goes to p{p}{}", how(passage))
            }
            Step::Ask { who, decision } => {
                let open = scene.actors[who].local.app.open.as_ref();
                let id = open.map_or_else(String::new, |open| open.id.to_string());
                format!("the application asks to {} {id}", verb(decision))
            }
            Step::Initialise { p, .. } => format!("the own producer of p{p} initialises itself"),
            Step::Run { who, id, passage } => {
                let action = &scene.actors[who].local.outstanding[&id];
                let actor = name(scene, who);
                format!("{actor} {}{}", action_in_words(action), how(passage))
            }
            Step::Answer { who, id } => {
                let answer = &scene.actors[who].local.answers[&id];
                format!("{} hears: {answer:?}", name(scene, who))
            }
            Step::Sync { who, how } => {
                let unsynced = &scene.actors[who].local.unsynced;
                let records = unsynced.iter().flat_map(|batch| &*batch.records);
                let records: Vec<String> = records.map(record_in_words).collect();
                let how = sync_in_words(how, (who > 0).then(|| unsynced[0].kept));
                format!(
                    "the log, for {}: {}{how}",
                    name(scene, who),
                    records.join(", ")
                )
            }
            Step::Arrive { place } => {
                let message = self.parts.messages.value(scene.network[place]);
                let call = call_in_words(&message.call);
                format!("an old request arrives at p{}: {call}", message.to)
            }
            Step::Mark { p } => format!("p{p} has written its markers"),
            Step::Sweep { who, .. } => {
                format!("{} lists open transactions again", name(scene, who))
            }
            Step::Deadline { who } => format!("a deadline passes at {}", name(scene, who)),
            Step::Crash { kept, .. } => {
                let lost = scene.actors[0].local.unsynced.len() - kept;
                let actor = name(scene, 0);
                let what = match (kept, lost) {
                    (_, 0) => format!("{actor} is killed"),
                    _ => {
                        format!("the machine of {actor} fails, {lost} entries are not on its disk")
                    }
                };
                format!("{what}; a new one starts")
            }
            Step::TakeOver { kept } => format!(
                "{} is taken for dead; a successor reads the log, which has {kept} of its {} last \
                 entries, and owns it",
                name(scene, 0),
                scene.actors[0].local.unsynced.len()
            ),
            Step::Expire { p } => format!("what is open at p{p} passes its time-out"),
        }
    }
}

fn name(scene: &Scene, who: usize) -> String {
    let incarnation = scene.actors[who].local.incarnation.0;
    if who == 0 {
        format!("coordinator {incarnation}")
    } else {
        format!("zombie {incarnation}")
    }
}

const fn verb(decision: Decision) -> &'static str {
    match decision {
        Decision::Commit => "commit",
        Decision::Abort => "abort",
    }
}

const fn how(passage: Passage) -> &'static str {
    match passage {
        Passage::Arrives => "",
        Passage::Lost => ", and it is LOST",
        Passage::AnswerLost => ", it arrives and its ANSWER IS LOST",
        Passage::Late => ", it is not answered and arrives LATER",
        Passage::Repeated => ", it is answered, and its client REPEATED it",
    }
}

fn sync_in_words(how: Sync, zombie: Option<bool>) -> &'static str {
    match (how, zombie) {
        (_, Some(true)) => ": the first was written before the fence",
        (_, Some(false)) => ": the first is REFUSED, it is fenced",
        (Sync::Durable, None) => " is durable",
        (Sync::Refused, None) => ": the first is REFUSED",
        (Sync::Unknown { kept: true }, None) => ": the first is written and NOT ANSWERED",
        (Sync::Unknown { kept: false }, None) => ": the first is not written and NOT ANSWERED",
    }
}

fn record_in_words(record: &gtc_core::Record) -> String {
    use gtc_core::Record;
    match record {
        Record::Started { incarnation, .. } => format!("start {}", incarnation.0),
        Record::ClusterBound { participant, .. } => format!("{participant} is bound"),
        Record::Names { participant, .. } => format!("names for {participant}"),
        Record::OwnEnlisted {
            transaction,
            participant,
            ..
        } => format!("{transaction} enlists an own producer at {participant}"),
        Record::Decided { transaction, .. } => format!("{transaction} commits"),
        Record::Acknowledged {
            transaction,
            participant,
            ..
        } => format!("{transaction} is acknowledged by {participant}"),
        Record::Heuristic {
            transaction,
            participant,
            kind,
            ..
        } => format!("{transaction} ended otherwise at {participant} ({kind:?})"),
        Record::Completed { transaction, .. } => format!("{transaction} is completed"),
        Record::Discarded { participant, .. } => {
            format!("the own producer of {participant} is spent")
        }
        other => format!("{other:?}"),
    }
}

fn action_in_words(action: &Action) -> String {
    match action {
        Action::Connect { participant } => format!("connects to p{}", participant.0),
        Action::OpenSlot {
            transactional_id, ..
        } => format!("initialises the slot {transactional_id}"),
        Action::VerifySlot { participant, .. } => {
            format!("verifies its slot at p{}", participant.0)
        }
        Action::CloseSlot { participant, .. } => format!("closes its slot at p{}", participant.0),
        Action::Prepare {
            transaction,
            participant,
            ..
        } => format!("prepares {transaction} at p{}", participant.0),
        Action::EndByWriter {
            transaction,
            participant,
            decision,
            ..
        } => format!(
            "{}s {transaction} at p{} by its producer",
            verb(*decision),
            participant.0
        ),
        Action::EndTransaction {
            participant,
            branch,
            decision,
        } => format!(
            "sends EndTxn({}) to p{} for {} begun at {}",
            verb(*decision),
            participant.0,
            branch.transactional_id,
            branch.start_time_ms
        ),
        Action::Inquire {
            participant,
            transactional_id,
        } => format!("asks p{} where {transactional_id} stands", participant.0),
        Action::Fence {
            participant,
            transactional_id,
            ..
        } => format!("fences {transactional_id} at p{}", participant.0),
        Action::List { participant, .. } => format!("lists what is open at p{}", participant.0),
        other => format!("{other:?}"),
    }
}

fn call_in_words(call: &Call) -> String {
    match call {
        Call::Init { id, .. } => format!("InitProducerId of {id}"),
        Call::End {
            id,
            decision,
            intent,
            ..
        } => {
            let of = intent.as_ref().map(|tag| tag.transaction.to_string());
            format!(
                "EndTxn({}) of {id}, meant for {}",
                verb(*decision),
                of.unwrap_or_else(|| "nothing".into())
            )
        }
        Call::Add { id, tag, .. } | Call::Write { id, tag, .. } | Call::Offsets { id, tag, .. } => {
            format!("a record of {} under {id}", tag.transaction)
        }
    }
}
