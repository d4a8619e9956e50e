//! Golden scenarios: what goes into the core, and exactly what comes out, as JSON lines for every language.
//!
//! The scenarios are Rust functions ([`scenarios`]); the recorder plays them and writes one file each. A
//! test fails where a file is not what its scenario gives.

#![forbid(unsafe_code)]

mod cluster;
mod coverage;
mod line;
mod play;
mod scenarios;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use coverage::Coverage;
pub use line::FORMAT;

use play::Play;

/// A scenario by its name.
pub struct Scenario {
    /// Its name, which is its file's.
    pub name: &'static str,
    /// What happens in it, for people.
    pub story: &'static str,
    play: fn(&mut Play),
    setup: fn(&mut play::Setup),
}

/// A scenario that was played.
pub struct Recording {
    /// Its name.
    pub name: &'static str,
    /// Its lines, without line ends.
    pub lines: Vec<String>,
    /// What it passed through.
    pub coverage: Coverage,
}

impl Recording {
    /// The text of its file.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines
            .iter()
            .fold(String::new(), |text, line| text + line + "\n")
    }
}

/// All scenarios.
#[must_use]
pub fn scenarios() -> Vec<Scenario> {
    scenarios::all()
}

impl Scenario {
    /// Plays it.
    ///
    /// # Panics
    /// Where it does not go as it says.
    #[must_use]
    pub fn record(&self) -> Recording {
        let mut setup = play::Setup::default();
        (self.setup)(&mut setup);
        let mut play = Play::start(self, setup);
        (self.play)(&mut play);
        play.end(self.name)
    }
}

/// Where the files are.
#[must_use]
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

fn file_of(name: &str) -> String {
    format!("{name}.jsonl")
}

/// The names of the files that are not what their scenarios give, or have none.
///
/// # Errors
/// A directory that cannot be read.
pub fn stale(directory: &Path) -> io::Result<Vec<String>> {
    let mut known = BTreeSet::new();
    let mut stale = Vec::new();
    for scenario in scenarios() {
        let file = file_of(scenario.name);
        let found = fs::read_to_string(directory.join(&file)).unwrap_or_default();
        if found != scenario.record().text() {
            stale.push(file.clone());
        }
        known.insert(file);
    }
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !known.contains(&name) {
            stale.push(name);
        }
    }
    Ok(stale)
}

/// Writes the files that changed, removes those without a scenario, and returns their names.
///
/// # Errors
/// A file that cannot be written.
pub fn write(directory: &Path) -> io::Result<Vec<String>> {
    fs::create_dir_all(directory)?;
    let changed = stale(directory)?;
    for scenario in scenarios() {
        let file = file_of(scenario.name);
        if changed.contains(&file) {
            fs::write(directory.join(&file), scenario.record().text())?;
        }
    }
    let known: BTreeSet<String> = scenarios().iter().map(|s| file_of(s.name)).collect();
    for file in changed.iter().filter(|file| !known.contains(*file)) {
        fs::remove_file(directory.join(file))?;
    }
    Ok(changed)
}
