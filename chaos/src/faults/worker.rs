//! A worker and its supervisor: it is started again whenever it has ended, until it is asked to end.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::notes::Notes;
use crate::error::{Context, Error, Result};
use crate::program::WATCHED;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A worker that cannot work, for instance as its disk is full, is started again after this time.
const AGAIN_AFTER: Duration = Duration::from_millis(700);
/// What a panic, an abort or a fault of memory ends with: nothing but a defect does that.
const PANIC: i32 = 101;

/// One worker.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) name: String,
    pub(super) binary: PathBuf,
    /// The file of its setup.
    pub(super) setup: PathBuf,
    /// Everything that it says.
    pub(super) log: PathBuf,
    state: Mutex<State>,
    lives: AtomicU32,
    ending: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    child: Option<Child>,
    /// Not started before.
    not_before: Option<Instant>,
}

impl Worker {
    pub(super) fn new(name: &str, binary: PathBuf, setup: PathBuf, log: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            binary,
            setup,
            log,
            state: Mutex::default(),
            lives: AtomicU32::new(0),
            ending: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts it again and again until [`Self::end`] is called and it has ended.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn supervise(&self, notes: &Notes) -> Result<()> {
        loop {
            let mut state = self.state();
            let ended = state
                .child
                .as_mut()
                .and_then(|child| child.try_wait().transpose());
            if let Some(status) = ended {
                state.child = None;
                state.not_before = Some(Instant::now() + AGAIN_AFTER);
                self.note_end(status.context("wait for a worker")?, notes);
            }
            if state.child.is_none() {
                if self.ending.load(Ordering::SeqCst) {
                    return Ok(());
                }
                if state.not_before.is_none_or(|time| time <= Instant::now()) {
                    state.child = Some(self.spawn("work")?);
                }
            }
            drop(state);
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Says how a life ended that nobody killed.
    fn note_end(&self, status: ExitStatus, notes: &Notes) {
        let is_ending = self.ending.load(Ordering::SeqCst);
        match status.code() {
            Some(0) if is_ending => {}
            // It was asked before it was ready to be asked.
            None if is_ending && status.signal() == Some(Signal::TERM.as_raw()) => {}
            Some(code) if code != PANIC && code != 0 => {
                notes.add("gave-up", &self.name, &status.to_string())
            }
            _ => notes.add("crashed", &self.name, &status.to_string()),
        }
    }

    /// SIGKILL; it is not started again for `down`. False where it does not run.
    pub(super) fn kill(&self, down: Duration) -> bool {
        let mut state = self.state();
        let Some(mut child) = state.child.take() else {
            return false;
        };
        if !matches!(child.try_wait(), Ok(None)) {
            // It has ended by itself: the supervisor is to see that.
            state.child = Some(child);
            return false;
        }
        put_down(&mut child);
        state.not_before = Some(Instant::now() + down);
        true
    }

    /// SIGSTOP, SIGCONT or SIGTERM. False where it does not run.
    pub(super) fn signal(&self, signal: Signal) -> bool {
        let state = self.state();
        let Some(child) = &state.child else {
            return false;
        };
        rustix::process::kill_process(Pid::from_child(child), signal).is_ok()
    }

    /// Asks it to end in order, and waits; it is killed where it takes too long.
    pub(super) fn end(&self, patience: Duration, notes: &Notes) {
        self.ending.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + patience;
        self.signal(Signal::TERM);
        while self.state().child.is_some() {
            if Instant::now() > deadline && self.kill(Duration::ZERO) {
                notes.add(
                    "crashed",
                    &self.name,
                    "did not end within its time after SIGTERM",
                );
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Runs a life that ends what the others left open.
    ///
    /// # Errors
    /// It fails, or takes longer than `patience`.
    pub(super) fn finish(&self, patience: Duration) -> Result<()> {
        let mut child = self.spawn("finish")?;
        let deadline = Instant::now() + patience;
        loop {
            match child.try_wait().context("wait for a worker")? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    let log = self.log.display();
                    return Err(Error::new(format!(
                        "{} finish: {status}; see {log}",
                        self.name
                    )));
                }
                None if Instant::now() > deadline => {
                    put_down(&mut child);
                    return Err(Error::new(format!(
                        "{} finish: it takes too long",
                        self.name
                    )));
                }
                None => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    fn spawn(&self, mode: &str) -> Result<Child> {
        let life = self.lives.fetch_add(1, Ordering::SeqCst) + 1;
        let doing = format!("start {}", self.binary.display());
        let log = append(&self.log).context(&doing)?;
        let level = std::env::var("GTC_LOG").unwrap_or_else(|_| "info".into());
        Command::new("sh")
            .args(["-c", WATCHED, "sh"])
            .arg(&self.binary)
            .arg(&self.setup)
            .args([&life.to_string(), mode])
            .env("GTC_LOG", level)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().context(&doing)?)
            .stderr(log)
            .spawn()
            .context(&doing)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.state().child {
            put_down(child);
        }
    }
}

/// Kills it, and tells its watcher that nothing is left to do.
fn put_down(child: &mut Child) {
    let _ = child.kill();
    if let Some(mut stdin) = child.stdin.take() {
        // Fails only where the watcher has ended already.
        let _ = stdin.write_all(b"keep\n");
    }
    let _ = child.wait();
}

fn append(path: &std::path::Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
