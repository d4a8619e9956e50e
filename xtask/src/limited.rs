//! A program that may take so long and no longer: what hangs is ended, and told with all that it
//! had started, so that the others still count.

use std::fmt;
use std::fs;
use std::io;
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const LOOK: Duration = Duration::from_millis(50);
/// How long Java machines have to print what their threads wait for.
const DUMP: Duration = Duration::from_secs(2);

/// How a program ended.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself.
    Ended(ExitStatus),
    /// It was killed, and these with it.
    Late(Vec<Process>),
}

/// A process that was killed.
#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    words: Vec<String>,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}: {}", self.id, self.words.join(" "))
    }
}

/// Runs a program, for `limit` at most.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<End> {
    let mut child = command.spawn()?;
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Ended(status));
        }
        sleep(LOOK);
    }
    let family = family(child.id());
    for java in family.iter().filter(|process| process.is("java")) {
        java.signal(Signal::QUIT);
    }
    sleep(DUMP);
    family.iter().for_each(|one| one.signal(Signal::KILL));
    child.wait()?;
    Ok(End::Late(family))
}

/// A process and all that it has started, as far as the kernel tells.
fn family(id: u32) -> Vec<Process> {
    let mut family = vec![Process::of(id)];
    let mut next = 0;
    while let Some(process) = family.get(next) {
        let children = process.children();
        family.extend(children.into_iter().map(Process::of));
        next += 1;
    }
    family
}

impl Process {
    fn of(id: u32) -> Self {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let words = line.split_terminator('\0').map(str::to_owned);
        Self {
            id,
            words: words.collect(),
        }
    }

    fn is(&self, program: &str) -> bool {
        let name = self.words.first().and_then(|word| word.rsplit('/').next());
        name == Some(program)
    }

    fn children(&self) -> Vec<u32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id));
        let tasks = tasks.into_iter().flatten().flatten();
        let listed = tasks.map(|task| fs::read_to_string(task.path().join("children")));
        let listed: Vec<_> = listed.filter_map(Result::ok).collect();
        let ids = listed.iter().flat_map(|text| text.split_whitespace());
        ids.filter_map(|id| id.parse().ok()).collect()
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        // One that has ended meanwhile needs none.
        let _ = id.map(|id| kill_process(id, signal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_in_time_is_left_alone() {
        let end = run(&mut Command::new("false"), Duration::from_secs(60)).unwrap();
        assert!(matches!(end, End::Ended(status) if status.code() == Some(1)));
    }

    #[test]
    fn what_hangs_is_killed_with_all_that_it_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & wait"]);
        let end = run(&mut command, Duration::from_millis(500)).unwrap();
        let End::Late(family) = end else {
            panic!("{end:?}")
        };
        let told: Vec<_> = family.iter().map(Process::to_string).collect();
        assert!(told[0].ends_with("sh -c sleep 1000 & wait"), "{told:?}");
        assert!(told[1].ends_with("sleep 1000"), "{told:?}");
        // A zombie has no command line any more.
        let is_gone = |process: &Process| Process::of(process.id).words.is_empty();
        let killed = Instant::now();
        while !family.iter().all(is_gone) {
            assert!(killed.elapsed() < Duration::from_secs(60), "{told:?}");
            sleep(LOOK);
        }
    }
}
