//! The program under test as a child: started, watched line by line, killed.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::error::{Context, Error, Result};
use crate::phase::{PhaseLine, Tracker, Window};
use crate::plan::Aim;

/// Becomes the program by `exec`, and leaves a watcher behind that reads the caller's pipe. If the pipe ends without
/// the word `keep`, the caller has died, and the watcher kills the program.
pub(crate) const WATCHED: &str = r#"
exec 3<&0 </dev/null
(
    trap '' HUP INT TERM
    read -r word <&3
    [ "$word" = keep ] || kill -9 $$
) >/dev/null 2>&1 &
exec 3<&-
exec "$@"
"#;

/// How many lines of a log an error shows.
const TAIL: usize = 15;

/// What to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The binary.
    pub binary: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// Where everything that it says on stderr is kept, of one life after the other; stdout goes beside it.
    pub log: PathBuf,
}

/// One life of the program.
#[derive(Debug)]
pub struct Life {
    child: Child,
    lines: Receiver<String>,
    log: File,
    log_path: PathBuf,
    tracker: Tracker,
    started: Instant,
}

/// Why watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The aim is reached.
    Reached,
    /// The program ended by itself.
    Ended,
}

impl Program {
    /// Starts it. It dies with the calling process.
    ///
    /// # Errors
    /// It cannot be started, or its log not be opened.
    pub fn start(&self) -> Result<Life> {
        let doing = format!("start {}", self.binary.display());
        let log = append(&self.log).context(&doing)?;
        let stdout = append(&self.log.with_extension("out")).context(&doing)?;
        let mut child = Command::new("sh")
            .args(["-c", WATCHED, "sh"])
            .arg(&self.binary)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .context(&doing)?;
        let stderr = child
            .stderr
            .take()
            .ok_or_else(|| Error::new("a child without stderr"))?;
        Ok(Life {
            child,
            lines: lines_of(stderr),
            log,
            log_path: self.log.clone(),
            tracker: Tracker::default(),
            started: Instant::now(),
        })
    }

    /// Runs it to its end and returns what it wrote to stdout.
    ///
    /// # Errors
    /// It fails, or does not end within `patience`.
    pub fn output(&self, patience: Duration) -> Result<String> {
        let stdout = self.log.with_extension("out");
        let before = std::fs::read_to_string(&stdout).map_or(0, |text| text.len());
        let life = self.start()?;
        let status = life.finish(patience)?;
        let text = std::fs::read_to_string(&stdout).context("read what a child wrote")?;
        let text = text.get(before..).unwrap_or_default().to_owned();
        if status.success() {
            return Ok(text);
        }
        let arguments = self.arguments.join(" ");
        Err(Error::new(format!(
            "gtc {arguments}: {status}\n{text}{}",
            tail(&self.log)
        )))
    }
}

impl Life {
    /// Reads on until `aim` is reached or the program ends.
    ///
    /// # Errors
    /// Neither happens within `patience`.
    pub fn watch(&mut self, aim: Aim, patience: Duration) -> Result<Watched> {
        let deadline = Instant::now() + patience;
        let mut hunt = Hunt { aim, entered: 0 };
        loop {
            let until = match hunt.aim {
                Aim::After(delay) => (self.started + delay).min(deadline),
                Aim::Window { .. } => deadline,
            };
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.take(&line, &mut hunt),
                Err(RecvTimeoutError::Disconnected) => return Ok(Watched::Ended),
                Err(RecvTimeoutError::Timeout) if hunt.is_due(self.started.elapsed()) => {
                    return Ok(Watched::Reached);
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.too_late("come to where it was to be killed", patience));
                }
            }
            // Lines that wait already tell of the past: the aim is where the program is now.
            while let Ok(line) = self.lines.try_recv() {
                self.take(&line, &mut hunt);
            }
            if let Some(jitter) = hunt.is_reached_in(self.tracker.window()) {
                std::thread::sleep(jitter);
                return Ok(Watched::Reached);
            }
        }
    }

    /// Lets it run on for `time`, and keeps its log.
    ///
    /// # Errors
    /// It has ended.
    pub fn run_on(&mut self, time: Duration) -> Result<()> {
        match self.watch(Aim::After(self.started.elapsed() + time), time * 2)? {
            Watched::Reached => Ok(()),
            Watched::Ended => Err(Error::new(format!(
                "the program ended by itself:\n{}",
                self.tail()
            ))),
        }
    }

    /// Where it stands, by the lines read so far.
    #[must_use]
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Kills it by SIGKILL and tells where that hit, by all that it wrote before it died. `None` if it had ended
    /// before.
    ///
    /// # Errors
    /// It cannot be killed.
    pub fn kill(mut self) -> Result<Option<Window>> {
        self.keep();
        let alive = self
            .child
            .try_wait()
            .context("look after a child")?
            .is_none();
        self.child.kill().context("kill a child")?;
        self.drain(Instant::now() + Duration::from_secs(30))?;
        self.child.wait().context("wait for a killed child")?;
        Ok(alive.then(|| self.tracker.window()))
    }

    /// Asks it to end by SIGTERM.
    ///
    /// # Errors
    /// It has ended.
    pub fn terminate(&self) -> Result<()> {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM)
            .context("send SIGTERM to a child")
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// It does not within `patience`; then it is killed.
    pub fn finish(mut self, patience: Duration) -> Result<ExitStatus> {
        if let Err(late) = self.drain(Instant::now() + patience) {
            self.keep();
            self.child.kill().context("kill a child")?;
            self.child.wait().context("wait for a killed child")?;
            return Err(late);
        }
        self.keep();
        self.child.wait().context("wait for a child")
    }

    /// The last lines that it wrote.
    #[must_use]
    pub fn tail(&self) -> String {
        tail(&self.log_path)
    }

    fn take(&mut self, line: &str, hunt: &mut Hunt) {
        // A log that cannot be written is no reason to miss a kill; the result does not depend on it.
        let _ = writeln!(self.log, "{line}");
        let Some(line) = PhaseLine::parse(line) else {
            return;
        };
        let before = self.tracker.window();
        self.tracker.observe(&line);
        hunt.follow(&line, (before, self.tracker.window()));
    }

    fn drain(&mut self, deadline: Instant) -> Result<()> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.take(&line, &mut Hunt::none()),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.too_late("ended", self.started.elapsed()));
                }
            }
        }
    }

    fn too_late(&self, what: &str, patience: Duration) -> Error {
        let seconds = patience.as_secs();
        let tail = self.tail();
        Error::new(format!(
            "within {seconds} s the program has not {what}; its last lines:\n{tail}"
        ))
    }

    /// Tells the watcher that this process sees to the end of the program itself.
    fn keep(&mut self) {
        if let Some(mut stdin) = self.child.stdin.take() {
            // Fails only where the watcher has ended already.
            let _ = stdin.write_all(b"keep\n");
        }
    }
}

/// An aim, and how near the program has come to it.
struct Hunt {
    aim: Aim,
    entered: u32,
}

impl Hunt {
    /// For lines that are only kept.
    fn none() -> Self {
        Self {
            aim: Aim::After(Duration::ZERO),
            entered: 0,
        }
    }

    fn follow(&mut self, line: &PhaseLine, (before, now): (Window, Window)) {
        let Aim::Window { window, .. } = self.aim else {
            return;
        };
        self.entered += u32::from(now == window && before != window);
        if window == Window::Recovering && line.phase == "recovered" {
            // There was nothing to recover, or it is over: the next decision will do.
            self.aim = Aim::Window {
                window: Window::Decided,
                nth: 1,
                jitter: Duration::ZERO,
            };
            self.entered = 0;
        }
    }

    fn is_due(&self, age: Duration) -> bool {
        matches!(self.aim, Aim::After(delay) if age >= delay)
    }

    fn is_reached_in(&self, now: Window) -> Option<Duration> {
        match self.aim {
            Aim::Window {
                window,
                nth,
                jitter,
            } if window == now && self.entered >= nth => Some(jitter),
            _ => None,
        }
    }
}

/// Reads on a thread of its own, so that a watcher can wait with a time-out.
fn lines_of(stderr: ChildStderr) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr)
            .split(b'\n')
            .map_while(std::result::Result::ok)
        {
            if sender
                .send(String::from_utf8_lossy(&line).into_owned())
                .is_err()
            {
                return;
            }
        }
    });
    lines
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

#[cfg(test)]
mod tests;
