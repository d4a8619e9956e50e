//! Maven, which fetches what it needs while it works: a connection over which nothing comes is given up after a
//! minute (Maven waits for half an hour), and what could not be fetched is fetched again.

use std::process::Command;
use std::time::Duration;

/// How often a run is made that the network broke off.
pub const ATTEMPTS: u32 = 3;
/// How long a repository may be silent.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// `mvn`, without questions, and with no more than `patience` for a silent repository.
#[must_use]
pub fn command(patience: Duration) -> Command {
    let milliseconds = patience.as_millis();
    let mut command = Command::new("mvn");
    // It would remember for a day what could not be fetched.
    command.args(["--batch-mode", "--update-snapshots"]);
    // Maven reads the first up to 3.8, and the others from 3.9 on.
    for property in [
        "maven.wagon.rto",
        "aether.connector.requestTimeout",
        "aether.connector.connectTimeout",
    ] {
        command.arg(format!("-D{property}={milliseconds}"));
    }
    command
}

/// What it printed tells of something that could not be fetched, so that another run may succeed.
#[must_use]
pub fn was_broken_off(output: &str) -> bool {
    output.contains("Could not transfer ")
}
