//! Error kinds, retry advice, configuration keys and the words of the verbs stand in tables of the
//! driver. This crate writes the first three down in each language, and checks that the
//! documentation of each language has the words of the verbs. It also gathers the licences of what
//! is linked into each package.
//!
//! A language has a module with a [`Language`]: the files that are generated whole, and the
//! hand-written ones that document verbs.

#![forbid(unsafe_code)]

mod c;
mod docs;
mod java;
mod node;
mod notices;
mod python;
mod tables;

use std::io;
use std::path::{Path, PathBuf};

pub use docs::missing;

/// What a language takes from the tables.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Its name.
    pub name: &'static str,
    /// The files that are generated whole: path from the root of the workspace, and the text.
    pub generated: fn() -> Vec<(&'static str, String)>,
    /// Files that document verbs, each for the objects that it names: `coordinator`,
    /// `transaction`, `consumer`, `batch`, `own_branch`.
    pub documented: &'static [(&'static str, &'static [&'static str])],
}

/// Every language.
pub const LANGUAGES: &[Language] = &[c::C, java::JAVA, node::NODE, python::PYTHON];

/// The root of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Writes what is generated, and tells which files changed.
///
/// # Errors
/// A file cannot be written, or the licences cannot be found.
pub fn write(root: &Path) -> io::Result<Vec<&'static str>> {
    let mut changed = Vec::new();
    for (path, text) in generated()? {
        let file = root.join(path);
        if std::fs::read_to_string(&file).is_ok_and(|found| found == text) {
            continue;
        }
        if let Some(directory) = file.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::write(file, text)?;
        changed.push(path);
    }
    Ok(changed)
}

/// Every file, and its text.
fn generated() -> io::Result<Vec<(&'static str, String)>> {
    let tables = LANGUAGES.iter().flat_map(|language| (language.generated)());
    Ok(tables.chain(notices::files()?).collect())
}

/// What does not fit the tables, for people: stale files, and words of verbs that a documentation
/// lacks.
#[must_use]
pub fn stale(root: &Path) -> Vec<String> {
    let mut found = match generated() {
        Ok(files) => lagging(root, &files),
        Err(error) => vec![error.to_string()],
    };
    let documented = LANGUAGES.iter().flat_map(|language| language.documented);
    for (path, objects) in documented {
        match std::fs::read_to_string(root.join(path)) {
            Ok(text) => {
                let missing = missing(&text, objects).into_iter();
                found.extend(missing.map(|what| format!("{path} lacks the words of {what}")));
            }
            Err(error) => found.push(format!("{path}: {error}")),
        }
    }
    found
}

fn lagging(root: &Path, files: &[(&'static str, String)]) -> Vec<String> {
    let is_fresh = |path: &str, text: &String| {
        let found = std::fs::read_to_string(root.join(path));
        found.is_ok_and(|found| found == *text)
    };
    let stale = files.iter().filter(|(path, text)| !is_fresh(path, text));
    stale
        .map(|(path, _)| format!("{path} is stale: run `cargo xtask generate`"))
        .collect()
}
