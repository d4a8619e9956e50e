//! Counts what the workers were told, while they run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Reads on in growing journals.
#[derive(Debug, Default)]
pub(super) struct Tally {
    journals: BTreeMap<PathBuf, u64>,
    told: BTreeMap<String, usize>,
    begun: usize,
}

impl Tally {
    pub(super) fn of(journals: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            journals: journals.into_iter().map(|path| (path, 0)).collect(),
            ..Self::default()
        }
    }

    /// Takes in what has come since.
    pub(super) fn update(&mut self) {
        let mut lines = Vec::new();
        for (path, place) in &mut self.journals {
            let mut text = String::new();
            let read = File::open(path).and_then(|mut file| {
                file.seek(SeekFrom::Start(*place))?;
                file.read_to_string(&mut text)
            });
            // A journal that is not there yet counts nothing; a line that is not whole is read again.
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            if read.is_ok() {
                *place += whole as u64;
                lines.extend(text[..whole].lines().map(str::to_owned));
            }
        }
        for line in lines {
            self.take(&line);
        }
    }

    fn take(&mut self, line: &str) {
        let Ok(line) = serde_json::from_str::<serde_json::Value>(line) else {
            return;
        };
        match line["kind"].as_str() {
            Some("begun") => self.begun += 1,
            Some("told") => {
                let what = line["what"].as_str().unwrap_or("?").to_owned();
                *self.told.entry(what).or_default() += 1;
            }
            _ => {}
        }
    }

    /// Transactions that were begun.
    pub(super) fn begun(&self) -> usize {
        self.begun
    }

    /// The counts in a line.
    pub(super) fn to_text(&self) -> String {
        let told = self
            .told
            .iter()
            .map(|(what, count)| format!("{count} {what}"));
        let told: Vec<String> = told.collect();
        format!("{} begun, {}", self.begun, told.join(", "))
    }
}
