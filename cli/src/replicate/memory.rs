//! The ids of the topics that were mirrored, in a file beside the log.
//!
//! The group keeps them too, beside its offsets. But a cluster that deletes a topic deletes the
//! group's offsets in it as well, and a topic made again would look like one that was never
//! mirrored.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::loss::TopicId;
use crate::failure::Failure;

/// What is remembered of one group.
#[derive(Debug)]
pub(crate) struct Memory {
    path: PathBuf,
    ids: BTreeMap<String, TopicId>,
}

impl Memory {
    /// Reads what an earlier run remembered; a first run has nothing to remember.
    pub(crate) fn open(log: &Path, group: &str) -> Result<Self, Failure> {
        let path = path_of(log, group);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failure("reading", &path, &error)),
        };
        let ids = text.lines().filter_map(parse).collect();
        Ok(Self { path, ids })
    }

    /// The id that a topic had.
    pub(crate) fn get(&self, topic: &str) -> Option<TopicId> {
        self.ids.get(topic).copied()
    }

    /// Remembers the id of a topic, before anything of it is mirrored.
    pub(crate) fn set(&mut self, topic: &str, id: TopicId) -> Result<(), Failure> {
        if self.ids.insert(topic.to_owned(), id) == Some(id) {
            return Ok(());
        }
        let lines = self.ids.iter().map(|(topic, id)| format!("{id} {topic}\n"));
        let text: String = lines.collect();
        let partial = self.path.with_extension("partial");
        // The old file or the new one is there, whenever the process ends.
        fs::write(&partial, text)
            .and_then(|()| fs::rename(&partial, &self.path))
            .map_err(|error| failure("writing", &self.path, &error))
    }
}

/// Beside the log, whose directory holds nothing but the log.
fn path_of(log: &Path, group: &str) -> PathBuf {
    let name = log
        .file_name()
        .map_or_else(|| "log".into(), |name| name.to_string_lossy());
    // A group's name may hold any sign; a file's name may not.
    let keep = |sign: char| {
        if sign.is_ascii_alphanumeric() || sign == '-' {
            sign
        } else {
            '_'
        }
    };
    let group: String = group.chars().map(keep).collect();
    log.with_file_name(format!("{name}.{group}.topics"))
}

fn parse(line: &str) -> Option<(String, TopicId)> {
    let (id, topic) = line.split_once(' ')?;
    Some((
        topic.to_owned(),
        TopicId(u128::from_str_radix(id, 16).ok()?),
    ))
}

fn failure(operation: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::error(format!(
        "{operation} the ids of mirrored topics in {}: {error}; see that the directory of the log \
        is in one that may be written",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_is_there_after_a_restart() {
        let dir = std::env::temp_dir().join(format!("gtc-memory-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let log = dir.join("log");
        let mut memory = Memory::open(&log, "a/b").unwrap();
        assert_eq!(memory.get("t"), None);
        memory.set("t", TopicId(7)).unwrap();
        memory.set("t", TopicId(8)).unwrap();
        let again = Memory::open(&log, "a/b").unwrap();
        assert_eq!(again.get("t"), Some(TopicId(8)));
        assert_eq!(Memory::open(&log, "other").unwrap().get("t"), None);
        fs::remove_dir_all(dir).unwrap();
    }
}
