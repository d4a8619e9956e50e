//! The lines of one history, if they are wanted.

use std::cell::{Cell, RefCell};

use gtc_core::Now;

use crate::run::Options;

/// Collects the lines of a history.
#[derive(Debug)]
pub struct Trace {
    lines: Option<RefCell<Vec<String>>>,
    /// Every step, and not only the story.
    every_step: bool,
    step: Cell<u64>,
}

impl Trace {
    /// A trace that keeps what the options ask for; by default nothing, at no cost.
    pub fn new(options: Options) -> Self {
        let wanted = options.trace || options.story;
        Self {
            lines: wanted.then(RefCell::default),
            every_step: options.trace,
            step: Cell::new(0),
        }
    }

    /// What follows happens in this step.
    pub fn turn_to(&self, step: u64) {
        self.step.set(step);
    }

    /// A line that only those want who want every step.
    pub fn note(&self, now: Now, line: impl FnOnce() -> String) {
        if self.every_step {
            self.tell(now, line);
        }
    }

    /// A line of the story.
    pub fn tell(&self, now: Now, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let at_ms = now.monotonic.as_micros() / 1000;
            let step = self.step.get();
            let line = format!("{at_ms:>8} ms, step {step:>3}: {}", line());
            lines.borrow_mut().push(line);
        }
    }

    /// The lines so far.
    pub fn take(&self) -> Vec<String> {
        let lines = self.lines.as_ref().map(RefCell::take);
        lines.unwrap_or_default()
    }
}
