//! What a loader got acknowledged, kept outside of every cluster: the truth that the checker compares with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Context, Error, Result};

/// One acknowledged record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its unique id.
    pub id: String,
    /// The checksum of its content.
    pub digest: u64,
    /// Where the cluster of its origin put it.
    pub offset: i64,
}

/// The acknowledged records of one origin, in the order of each partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// The cluster that they were written to.
    pub origin: String,
    /// By partition.
    pub partitions: BTreeMap<i32, Vec<Entry>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    partition: i32,
    #[serde(flatten)]
    entry: Entry,
}

impl Journal {
    /// An empty one.
    pub fn new(origin: impl Into<String>) -> Self {
        Self {
            origin: origin.into(),
            partitions: BTreeMap::new(),
        }
    }

    /// How many records it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.partitions.values().map(Vec::len).sum()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts each partition in the order of its offsets.
    pub fn sort(&mut self) {
        for entries in self.partitions.values_mut() {
            entries.sort_by_key(|entry| entry.offset);
        }
    }

    /// Writes it as one JSON object a line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let doing = format!("write the journal {}", path.display());
        let mut file = BufWriter::new(File::create(path).context(&doing)?);
        for (partition, entries) in &self.partitions {
            for entry in entries {
                let line = Line {
                    partition: *partition,
                    entry: entry.clone(),
                };
                serde_json::to_writer(&mut file, &line).context(&doing)?;
                file.write_all(b"\n").context(&doing)?;
            }
        }
        file.flush().context(doing)
    }

    /// Reads what [`Self::save`] wrote.
    ///
    /// # Errors
    /// The file cannot be read, or is no journal.
    pub fn open(origin: &str, path: &Path) -> Result<Self> {
        let doing = format!("read the journal {}", path.display());
        let mut journal = Self::new(origin);
        for (number, line) in BufReader::new(File::open(path).context(&doing)?)
            .lines()
            .enumerate()
        {
            let line: Line = serde_json::from_str(&line.context(&doing)?)
                .map_err(|error| Error::new(format!("{doing}, line {}: {error}", number + 1)))?;
            journal
                .partitions
                .entry(line.partition)
                .or_default()
                .push(line.entry);
        }
        journal.sort();
        Ok(journal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_journal_reads_back_in_the_order_of_offsets() {
        let entry = |offset| Entry {
            id: format!("us:{offset}"),
            digest: u64::MAX,
            offset,
        };
        let mut journal = Journal::new("us");
        journal.partitions.insert(1, vec![entry(5), entry(3)]);
        let path = std::env::temp_dir().join(format!("gtc-chaos-journal-{}", std::process::id()));
        journal.save(&path).unwrap();
        journal.sort();
        assert_eq!(Journal::open("us", &path).unwrap(), journal);
        std::fs::write(&path, "no journal\n").unwrap();
        let error = Journal::open("us", &path).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("line 1"), "{error}");
    }
}
