//! Which test programs there are, and how each is called.
//!
//! Cargo alone knows, and would run them one after the other. So it is told to call this program
//! in their place, which notes what it should have run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, cargo, root, this};

/// Tells this program where to note what it is called for.
const NOTES: &str = "GTC_XTASK_NOTES";
/// By which cargo names the package of a program that it runs.
const PACKAGE: &str = "CARGO_PKG_NAME";

/// A program, with the directory and the environment that cargo gives it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) directory: OsString,
    pub(super) path: OsString,
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// Notes a test program, where cargo calls for it.
pub(crate) fn stand_in(arguments: &[String]) -> Option<Result<(), Failure>> {
    let notes = PathBuf::from(env::var_os(NOTES)?);
    let path = arguments.first()?.into();
    let noted = env::current_dir().and_then(|directory| {
        let program = Program {
            directory: directory.into(),
            path,
            environment: env::vars_os().filter(|(key, _)| key != NOTES).collect(),
        };
        let mut file = OpenOptions::new().append(true).open(&notes)?;
        file.write_all(&program.note())
    });
    Some(noted.map_err(|cause| about(&notes, &cause)))
}

/// The programs that a `cargo test` with these arguments has built.
pub(super) fn built_by(test: &[&str]) -> Result<Vec<Program>, Failure> {
    let notes = root().join("target/test-programs");
    let failed = |cause: io::Error| about(&notes, &cause);
    fs::write(&notes, "").map_err(failed)?;
    let mut call = cargo(test);
    call.args(["--tests", "--quiet", "--config"])
        .arg(format!("target.'cfg(all())'.runner = [{:?}]", this()?))
        .env(NOTES, &notes);
    match call.status().map_err(failed)?.success() {
        true => Ok(read(&fs::read(&notes).map_err(failed)?)),
        false => Err(Failure::new("cargo does not tell the test programs")),
    }
}

impl Program {
    /// Such as `gtc cases`: the package, and the program without the hash that cargo adds.
    pub(super) fn name(&self) -> String {
        let package = self.environment.iter().find(|(key, _)| key == PACKAGE);
        let package = package.map_or(OsStr::new("?"), |(_, value)| value);
        let stem = Path::new(&self.path).file_stem().unwrap_or_default();
        let (package, stem) = (package.to_string_lossy(), stem.to_string_lossy());
        let program = stem.rsplit_once('-').map_or(&*stem, |(program, _)| program);
        format!("{package} {program}")
    }

    pub(super) fn file(&self) -> &Path {
        Path::new(&self.path)
            .file_name()
            .unwrap_or_default()
            .as_ref()
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.directory);
        command.env_clear().envs(self.environment.iter().cloned());
        command
    }

    /// Texts that each end with a zero, and one more zero after the last: no text is empty.
    fn note(&self) -> Vec<u8> {
        let mut texts = vec![self.directory.clone(), self.path.clone()];
        for (key, value) in &self.environment {
            let mut text = key.clone();
            text.push("=");
            text.push(value);
            texts.push(text);
        }
        let mut note = Vec::new();
        for text in texts {
            note.extend_from_slice(text.as_bytes());
            note.push(0);
        }
        note.push(0);
        note
    }

    fn read(texts: &[&[u8]]) -> Option<Self> {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let [directory, path, variables @ ..] = texts else {
            return None;
        };
        let pair = |variable: &&[u8]| {
            let middle = variable.iter().position(|byte| *byte == b'=')?;
            Some((text(&variable[..middle]), text(&variable[middle + 1..])))
        };
        Some(Self {
            directory: text(directory),
            path: text(path),
            environment: variables.iter().filter_map(pair).collect(),
        })
    }
}

fn read(notes: &[u8]) -> Vec<Program> {
    let texts: Vec<&[u8]> = notes.split(|byte| *byte == 0).collect();
    let programs = texts.split(|text| text.is_empty());
    programs.filter_map(Program::read).collect()
}

fn about(notes: &Path, cause: &io::Error) -> Failure {
    Failure::new(format!("{}: {cause}", notes.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_again() {
        let program = |name: &str| Program {
            directory: "/a\nb".into(),
            path: format!("target/deps/{name}").into(),
            environment: vec![
                (PACKAGE.into(), "gtc-core".into()),
                ("EMPTY".into(), "".into()),
                ("PAIRS".into(), "eu=1 us=2".into()),
            ],
        };
        let programs = [program("own-0123abc"), program("it")];
        let notes: Vec<u8> = programs.iter().flat_map(Program::note).collect();
        assert_eq!(read(&notes), programs);
        assert_eq!(programs[0].name(), "gtc-core own");
        assert_eq!(programs[1].name(), "gtc-core it");
        assert_eq!(read(b""), []);
    }
}
