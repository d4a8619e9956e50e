//! The lines of a file, as `vectors/README.md` describes them.

use gtc_core::{
    Accepted, Action, ActionId, Config, Coordinator, Event, Now, Output, Refusal, Request,
    Response, Time, WaitReason,
};
use serde::Serialize;

/// The version of the files' form.
pub const FORMAT: u32 = 1;

/// The first line.
#[derive(Serialize)]
pub(crate) struct Header<'a> {
    pub(crate) format: u32,
    pub(crate) name: &'a str,
    pub(crate) story: &'a str,
    pub(crate) config: &'a Config,
    /// Records that a start finds, in hexadecimal digits.
    pub(crate) log: Vec<String>,
}

/// What goes in.
#[derive(Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub(crate) enum Input<'a> {
    /// The coordinator is made.
    Start,
    Request {
        #[serde(flatten)]
        request: &'a Request,
        result: Answer<'a>,
    },
    Response {
        to: ActionId,
        #[serde(flatten)]
        response: &'a Response,
    },
    Timeout,
}

/// The immediate answer to a request.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Answer<'a> {
    Accepted(&'a Accepted),
    Refused(&'a Refusal),
}

/// What comes out, drained.
#[derive(Serialize)]
pub(crate) struct Drained {
    pub(crate) actions: Vec<Asked>,
    pub(crate) events: Vec<Event>,
    pub(crate) wait: Wait,
}

#[derive(Serialize)]
pub(crate) struct Asked {
    pub(crate) id: ActionId,
    #[serde(flatten)]
    pub(crate) action: Action,
}

#[derive(Serialize)]
pub(crate) struct Wait {
    until_us: Option<Time>,
    reason: WaitReason,
}

/// All other lines.
#[derive(Serialize)]
pub(crate) struct Line<'a> {
    pub(crate) now: Now,
    #[serde(flatten)]
    pub(crate) input: Input<'a>,
    #[serde(flatten)]
    pub(crate) output: &'a Drained,
}

impl Drained {
    pub(crate) fn of(coordinator: &mut Coordinator) -> Self {
        let (mut actions, mut events) = (Vec::new(), Vec::new());
        loop {
            match coordinator.poll_output() {
                Output::Action(id, action) => actions.push(Asked { id, action }),
                Output::Event(event) => events.push(event),
                Output::Wait(until_us, reason) => {
                    let wait = Wait { until_us, reason };
                    return Self {
                        actions,
                        events,
                        wait,
                    };
                }
            }
        }
    }
}
