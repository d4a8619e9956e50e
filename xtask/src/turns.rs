//! Turns of several runs in one checkout. A package is built in places that all runs share, such as
//! `node/native` and `java/target`, so that only one of them works on a language at a time.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::command::{Failure, root};

/// The right to work on languages. The kernel takes it back when this process ends.
pub(crate) struct Turn {
    _locks: Vec<File>,
}

impl Turn {
    /// Waits for each of the languages, and says for whom.
    pub(crate) fn at<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Failure> {
        let names: Vec<&str> = names.into_iter().collect();
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let who = format!("`cargo xtask {command}` (process {})", std::process::id());
        let tell = |line: &str| eprintln!("xtask: {line}");
        let directory = root().join("target/turns");
        wait(&directory, names, &who, tell)
            .map_err(|cause| Failure::new(format!("{}: {cause}", directory.display())))
    }
}

fn wait(
    directory: &Path,
    mut names: Vec<&str>,
    who: &str,
    tell: impl Fn(&str),
) -> io::Result<Turn> {
    fs::create_dir_all(directory)?;
    // In one order for all: who has a part of what it wants waits for nobody who waits for it.
    names.sort_unstable();
    names.dedup();
    let lock = |name: &&str| {
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(directory.join(name))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut other = String::new();
            file.read_to_string(&mut other)?;
            tell(&format!("{name}: waiting for {other}"));
            flock(&file, FlockOperation::LockExclusive)?;
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(who.as_bytes())?;
        Ok(file)
    };
    let locks: io::Result<Vec<File>> = names.iter().map(lock).collect();
    Ok(Turn { _locks: locks? })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn directory(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("gtc-turns-{}-{name}", std::process::id()))
    }

    #[test]
    fn the_second_says_for_whom_it_waits_and_goes_on_when_the_first_is_done() {
        let place = directory("one-waits");
        let first = wait(&place, vec!["node", "java"], "the first", |line| {
            panic!("{line}")
        });
        let (told, lines) = mpsc::channel();
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let tell = |line: &str| told.send(line.to_owned()).unwrap();
                wait(&place, vec!["python", "java"], "the second", tell)
            });
            let line = lines.recv().unwrap();
            assert_eq!(line, "java: waiting for the first");
            assert!(!second.is_finished());
            drop(first);
            assert!(second.join().unwrap().is_ok());
        });
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn nobody_waits_for_other_languages_or_for_itself() {
        let place = directory("none-waits");
        let tell = |line: &str| panic!("{line}");
        let _first = wait(&place, vec!["c", "java", "c"], "the first", tell).unwrap();
        let _second = wait(&place, vec!["wasm", "node"], "the second", tell).unwrap();
        fs::remove_dir_all(place).unwrap();
    }
}
