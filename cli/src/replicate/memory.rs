//! What a mirror remembers beside its log: the ids of the topics that it reads and writes, and how far it
//! had come in each partition when it ended.
//!
//! The group keeps ids too, beside its offsets. But a cluster that deletes a topic deletes the group's
//! offsets in it as well, and a topic made again would look like one that was never mirrored.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::loss::TopicId;
use crate::failure::Failure;

/// What is remembered of one group; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    path: Arc<Path>,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    ids: BTreeMap<String, TopicId>,
    seen: BTreeMap<(String, i32), Seen>,
}

/// A partition as it was seen when a mirror ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Everything before it is mirrored.
    pub(crate) mirrored: i64,
    /// Its end.
    pub(crate) end: i64,
}

/// The word before a partition that was seen.
const SEEN: &str = "seen";

impl Memory {
    /// Reads what an earlier run remembered; a first run has nothing to remember.
    pub(crate) fn open(log: &Path, group: &str) -> Result<Self, Failure> {
        let path = path_of(log, group);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failure("reading", &path, &error)),
        };
        Ok(Self {
            path: path.into(),
            state: Arc::new(Mutex::new(State::parse(&text))),
        })
    }

    /// The id that a topic of the source had.
    pub(crate) fn get(&self, topic: &str) -> Option<TopicId> {
        self.state().ids.get(topic).copied()
    }

    /// Remembers the id of a topic, before anything of it is mirrored.
    pub(crate) fn set(&self, topic: &str, id: TopicId) -> Result<(), Failure> {
        self.change(|state| {
            if state.ids.insert(topic.to_owned(), id) != Some(id) {
                state.seen.retain(|(name, _), _| name != topic);
            }
        })
    }

    /// The id that a topic of a destination had.
    pub(crate) fn target(&self, destination: &str, topic: &str) -> Option<TopicId> {
        self.get(&target_key(destination, topic))
    }

    /// Remembers the id of a topic of a destination, or that there is none.
    pub(crate) fn set_target(
        &self,
        (destination, topic): (&str, &str),
        id: Option<TopicId>,
    ) -> Result<(), Failure> {
        let key = target_key(destination, topic);
        self.change(|state| {
            match id {
                Some(id) => state.ids.insert(key, id),
                None => state.ids.remove(&key),
            };
        })
    }

    /// How a partition was seen last.
    pub(crate) fn seen(&self, topic: &str, partition: i32) -> Option<Seen> {
        let key = (topic.to_owned(), partition);
        self.state().seen.get(&key).copied()
    }

    /// Remembers how partitions are seen.
    pub(crate) fn see(
        &self,
        partitions: impl IntoIterator<Item = ((String, i32), Seen)>,
    ) -> Result<(), Failure> {
        self.change(|state| state.seen.extend(partitions))
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> Result<(), Failure> {
        let mut state = self.state();
        let before = state.clone();
        change(&mut state);
        if *state == before {
            return Ok(());
        }
        let partial = self.path.with_extension("partial");
        // The old file or the new one is there, whenever the process ends.
        fs::write(&partial, state.to_text())
            .and_then(|()| fs::rename(&partial, &self.path))
            .map_err(|error| failure("writing", &self.path, &error))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No topic has a slash in its name.
fn target_key(destination: &str, topic: &str) -> String {
    format!("{destination}/{topic}")
}

impl State {
    fn to_text(&self) -> String {
        let ids = self.ids.iter().map(|(topic, id)| format!("{id} {topic}\n"));
        let seen = self.seen.iter().map(|((topic, partition), seen)| {
            let Seen { mirrored, end } = seen;
            format!("{SEEN} {topic} {partition} {mirrored} {end}\n")
        });
        ids.chain(seen).collect()
    }

    /// What is not understood was written by a later version.
    fn parse(text: &str) -> Self {
        let mut state = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                [id, topic] => {
                    if let Ok(id) = u128::from_str_radix(id, 16) {
                        state.ids.insert(topic.to_owned(), TopicId(id));
                    }
                }
                [SEEN, topic, partition, mirrored, end] => {
                    if let (Ok(partition), Ok(mirrored), Ok(end)) =
                        (partition.parse(), mirrored.parse(), end.parse())
                    {
                        let key = (topic.to_owned(), partition);
                        state.seen.insert(key, Seen { mirrored, end });
                    }
                }
                _ => {}
            }
        }
        state
    }
}

/// Beside the log, whose directory holds nothing but the log.
fn path_of(log: &Path, group: &str) -> PathBuf {
    let name = log
        .file_name()
        .map_or_else(|| "log".into(), |name| name.to_string_lossy());
    log.with_file_name(format!("{name}.{}.topics", file_name_of(group)))
}

/// A group's name may hold any sign; a file's name may not. Two groups never have one file.
fn file_name_of(group: &str) -> String {
    let mut name = String::new();
    for byte in group.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02x}");
        }
    }
    name
}

fn failure(operation: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::error(format!(
        "{operation} the ids of mirrored topics in {}: {error}; {}",
        path.display(),
        remedy(error.kind())
    ))
}

const fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidData => {
            "something else wrote it: bring it back, or move it away, and what was lost at the source \
             before now is not noticed"
        }
        ErrorKind::InvalidFilename => "the group's name is a part of it: give a shorter --group",
        ErrorKind::StorageFull => "make room there",
        _ => "see that the directory of the log is in one that may be written",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_is_there_after_a_restart() {
        let dir = std::env::temp_dir().join(format!("gtc-memory-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let log = dir.join("log");
        let memory = Memory::open(&log, "a/b").unwrap();
        assert_eq!(memory.get("t"), None);
        memory.set("t", TopicId(7)).unwrap();
        memory.set("t", TopicId(8)).unwrap();
        memory.set_target(("eu", "t"), Some(TopicId(9))).unwrap();
        memory.set_target(("us", "t"), Some(TopicId(9))).unwrap();
        memory.set_target(("us", "t"), None).unwrap();
        let seen = Seen {
            mirrored: 4,
            end: 5,
        };
        memory.see([(("t".to_owned(), 3), seen)]).unwrap();
        let again = Memory::open(&log, "a/b").unwrap();
        assert_eq!(again.get("t"), Some(TopicId(8)));
        assert_eq!(again.target("eu", "t"), Some(TopicId(9)));
        assert_eq!(again.target("us", "t"), None);
        assert_eq!(again.seen("t", 3), Some(seen));
        assert_eq!(again.seen("t", 4), None);
        assert_eq!(Memory::open(&log, "other").unwrap().get("t"), None);
        // Of a topic made again nothing is seen yet.
        again.set("t", TopicId(10)).unwrap();
        assert_eq!(again.seen("t", 3), None);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn no_two_groups_have_one_file() {
        let groups = [
            "or.v1", "or_v1", "or/v1", "or%2fv1", "or v1", "or\nv1", "ör-v1",
        ];
        let files: std::collections::BTreeSet<String> =
            groups.iter().map(|group| file_name_of(group)).collect();
        assert_eq!(files.len(), groups.len(), "{files:?}");
        assert_eq!(file_name_of("gtc-a.b_c"), "gtc-a.b_c");
        assert!(files.iter().all(|file| !file.contains(['/', ' ', '\n'])));
    }

    #[test]
    fn a_group_whose_name_is_too_long_for_a_file_is_told_so() {
        let log = std::env::temp_dir().join("log");
        let refused = Memory::open(&log, &"g".repeat(300)).unwrap_err();
        assert!(
            refused.to_string().contains("a shorter --group"),
            "{refused}"
        );
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_own_remedy() {
        let dir = std::env::temp_dir().join(format!("gtc-garbled-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let log = dir.join("log");
        fs::write(path_of(&log, "g"), [0xff, 0xfe]).unwrap();
        let refused = Memory::open(&log, "g").unwrap_err();
        assert!(refused.to_string().contains("move it away"), "{refused}");
        fs::remove_dir_all(dir).unwrap();
    }
}
