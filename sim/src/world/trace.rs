//! The lines of one history, if they are wanted.

use std::cell::RefCell;

/// Collects the lines of a history.
#[derive(Default)]
pub struct Trace {
    lines: Option<RefCell<Vec<String>>>,
}

impl Trace {
    /// A trace that keeps its lines, or one that costs nothing.
    pub fn new(wanted: bool) -> Self {
        Self {
            lines: wanted.then(RefCell::default),
        }
    }

    /// Adds a line.
    pub fn note(&self, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            lines.borrow_mut().push(line());
        }
    }

    /// The lines so far.
    pub fn take(&self) -> Vec<String> {
        self.lines
            .as_ref()
            .map(|lines| lines.take())
            .unwrap_or_default()
    }
}
