//! The notes of what was done to whom, for the auditor and the table of faults.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::audit::Note;
use crate::error::{Context, Result};
use crate::table::aligned;

/// The file of notes, and the counts of faults that began.
#[derive(Debug)]
pub(super) struct Notes(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    file: File,
    counts: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Notes {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).context(format!("make {}", path.display()))?;
        let counts = BTreeMap::new();
        Ok(Self(Mutex::new(Inner { file, counts })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one down.
    pub(super) fn add(&self, what: &str, target: &str, how: &str) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let note = Note {
            at: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            what: what.into(),
            target: target.into(),
            how: how.into(),
        };
        let mut inner = self.lock();
        if let Ok(text) = serde_json::to_string(&note) {
            // A note that is missing makes a story poorer and changes no verdict.
            let _ = writeln!(inner.file, "{text}");
        }
        let counts = inner.counts.entry(what.into()).or_default();
        *counts.entry(how.into()).or_default() += 1;
    }

    /// How often something began.
    pub(super) fn begun(&self, what: &str) -> usize {
        let inner = self.lock();
        let counts = inner.counts.get(what);
        counts
            .and_then(|counts| counts.get("begins"))
            .copied()
            .unwrap_or(0)
    }

    /// What happened how often.
    pub(super) fn to_text(&self) -> String {
        let inner = self.lock();
        let rows: Vec<Vec<String>> = inner
            .counts
            .iter()
            .map(|(what, counts)| {
                let count = |how| counts.get(how).copied().unwrap_or(0);
                let (begun, skipped) = (count("begins"), count("skipped"));
                let ends = count("ends");
                let others = counts.values().sum::<usize>() - begun - skipped - ends;
                let cells = [begun, skipped, others].map(|count| count.to_string());
                std::iter::once(what.clone()).chain(cells).collect()
            })
            .collect();
        aligned(&["what", "done", "skipped", "noted"], &rows, 1)
    }

    /// The counts of faults, by name.
    pub(super) fn counts(&self) -> BTreeMap<String, usize> {
        let inner = self.lock();
        let count = |counts: &BTreeMap<String, usize>| counts.get("begins").copied().unwrap_or(0);
        inner
            .counts
            .iter()
            .map(|(what, counts)| (what.clone(), count(counts)))
            .collect()
    }
}
