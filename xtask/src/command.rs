//! Calling other programs, step by step.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

/// Why xtask ends without success.
#[derive(Debug)]
pub(crate) struct Failure {
    text: String,
    exit_code: u8,
}

impl Failure {
    /// Something did not work.
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self {
            text: text.to_string(),
            exit_code: 1,
        }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self {
            text: text.to_string(),
            exit_code: 2,
        }
    }

    /// Something did not work, and has been printed.
    pub(crate) fn told() -> Self {
        Self::new("")
    }

    pub(crate) fn is_told(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<gtc_clusters::Error> for Failure {
    fn from(error: gtc_clusters::Error) -> Self {
        Self::new(error)
    }
}

/// The cargo that called us, in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let name = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = program(name);
    command.args(arguments).current_dir(root());
    command
}

/// A program that may call cargo. It is not told of this package, as cargo has told us: build scripts
/// would see a change in that, and what depends on them would be built again.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    untold(Command::new(name))
}

/// Maven, which may call cargo too.
pub(crate) fn maven() -> Command {
    untold(gtc_clusters::maven::command(gtc_clusters::maven::PATIENCE))
}

/// npm, in a directory. It gives a silent registry up after a minute, and asks again.
pub(crate) fn npm(directory: &Path) -> Command {
    let mut command = program("npm");
    command
        .current_dir(directory)
        .env_remove("NODE_PATH")
        .env("NPM_CONFIG_FETCH_TIMEOUT", "60000")
        .env("NPM_CONFIG_UPDATE_NOTIFIER", "false");
    command
}

fn untold(mut command: Command) -> Command {
    for (key, _) in std::env::vars_os() {
        let text = key.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(key);
        }
    }
    command
}

/// This program. It is asked for first of all, as a build may put another one in its place.
pub(crate) fn this() -> Result<&'static Path, Failure> {
    static THIS: OnceLock<io::Result<PathBuf>> = OnceLock::new();
    let this = THIS.get_or_init(std::env::current_exe).as_ref();
    this.map(PathBuf::as_path)
        .map_err(|cause| Failure::new(format!("xtask: {cause}")))
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A program to call, with a name to report it by.
#[derive(Debug)]
pub(crate) struct Step {
    name: &'static str,
    command: Command,
    remedy: &'static str,
}

impl Step {
    pub(crate) fn new(name: &'static str, command: Command) -> Self {
        Self {
            name,
            command,
            remedy: "see what it printed",
        }
    }

    /// What to do when it fails.
    pub(crate) fn remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = remedy;
        self
    }

    /// Runs it with our own output, and says how long it took.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let start = Instant::now();
        eprintln!("xtask: {} ...", self.name);
        let status = self.command.status();
        let status =
            status.map_err(|cause| Failure::new(format!("{}: {cause}", self.describe())))?;
        if !status.success() {
            let (command, remedy) = (self.describe(), self.remedy);
            return Err(Failure::new(format!(
                "{command} ended with {status}: {remedy}"
            )));
        }
        report(self.name, start);
        Ok(())
    }

    fn describe(&self) -> String {
        let arguments: Vec<_> = self
            .command
            .get_args()
            .map(|argument| argument.to_string_lossy())
            .collect();
        let program = Path::new(self.command.get_program());
        let program = program.file_name().unwrap_or_default().to_string_lossy();
        format!("{}: `{program} {}`", self.name, arguments.join(" "))
    }
}

/// Says how long a step took.
pub(crate) fn report(name: &str, start: Instant) {
    eprintln!("xtask: {name} took {:.1} s", start.elapsed().as_secs_f64());
}

/// Runs a program, shows its output, and reads it line by line: test programs of many kinds say
/// there how many passed.
pub(crate) fn run_reading(
    name: &str,
    mut command: Command,
    mut read: impl FnMut(&str),
) -> Result<ExitStatus, Failure> {
    let failed = |cause: io::Error| Failure::new(format!("{name}: {cause}"));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(output) = child.stdout.take() {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        // Bytes, as a test may print what is no UTF-8.
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            io::stdout().write_all(&line).map_err(failed)?;
            read(&String::from_utf8_lossy(&line));
            if !line.ends_with(b"\n") {
                // What is said next has a line of its own.
                println!();
            }
            line.clear();
        }
    }
    child.wait().map_err(failed)
}
