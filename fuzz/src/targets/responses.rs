//! The core with a driver that lies: requests and responses with any content, in any order. The core
//! may stop or refuse, but it neither panics nor breaks an invariant of its own.

use arbitrary::{Result, Unstructured};
use gtc_core::{Action, ActionId, Coordinator, Event, Ledger, Now, Output, Time};

use crate::vocabulary::{Vocabulary, config};

const STEPS_MAX: usize = 400;

struct Play<'a> {
    words: Vocabulary<'a>,
    coordinator: Coordinator,
    open: Vec<(ActionId, Action)>,
    now: Now,
}

impl Play<'_> {
    fn step(&mut self) -> Result<()> {
        match self.words.pick(16)? {
            0..=5 => {
                let request = self.words.request()?;
                if let Ok(accepted) = self.coordinator.handle_request(request, self.now) {
                    self.words.remember_accepted(accepted);
                }
            }
            6..=13 if !self.open.is_empty() => {
                let index = self.words.pick(self.open.len())?;
                let (id, action) = self.open.swap_remove(index);
                let response = self.words.response(&action)?;
                self.coordinator.handle_response(id, response, self.now);
            }
            14 => {
                let id = ActionId(self.words.number()?);
                let response = self.words.any_response()?;
                self.coordinator.handle_response(id, response, self.now);
            }
            _ => {
                let later = self.words.duration()?;
                self.now.monotonic = self.now.monotonic + later;
                self.now.unix_ms = self.words.number()?;
                self.coordinator.handle_timeout(self.now);
            }
        }
        self.drain();
        Ok(())
    }

    fn drain(&mut self) {
        loop {
            match self.coordinator.poll_output() {
                Output::Action(id, action) => {
                    self.words.remember_action(&action);
                    self.open.push((id, action));
                }
                Output::Event(Event::Stopped(_)) => self.open.clear(),
                Output::Event(_) => {}
                Output::Wait(..) => return,
            }
        }
    }
}

fn play(data: &[u8]) -> Result<()> {
    let mut words = Vocabulary::new(Unstructured::new(data));
    let mut ledger = Ledger::new();
    for _ in 0..words.pick(6)? {
        // What contradicts the records before it is refused.
        let _ = ledger.apply(words.record()?);
    }
    let now = Now {
        monotonic: Time::from_micros(words.number()?),
        unix_ms: words.number()?,
    };
    let config = config(&mut words)?;
    let Ok(coordinator) = Coordinator::new(config, ledger, now) else {
        return Ok(());
    };
    let mut play = Play {
        words,
        coordinator,
        open: Vec::new(),
        now,
    };
    play.drain();
    for _ in 0..STEPS_MAX {
        play.step()?;
        if let Err(broken) = play.coordinator.validate() {
            panic!("{broken}");
        }
    }
    Ok(())
}

/// Takes one input.
///
/// # Panics
/// If it breaks what must hold.
pub fn take(data: &[u8]) {
    // The input ends the play.
    let _ = play(data);
}
