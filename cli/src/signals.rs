//! SIGTERM and SIGINT ask a long-running command to end; a second one does not wait for it. SIGXFSZ ends nothing.

use std::time::{Duration, Instant};

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::failure::{Exit, Failure};

/// Signals this close together are one request: `timeout` and a terminal's Ctrl-C reach a program twice.
const ONE_REQUEST: Duration = Duration::from_millis(300);

/// Whether the process was asked to end.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown {
    asked: watch::Receiver<bool>,
}

impl Shutdown {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let terminate = open(SignalKind::terminate())?;
        let interrupt = open(SignalKind::interrupt())?;
        let (sender, asked) = watch::channel(false);
        tokio::spawn(forward(terminate, interrupt, sender));
        Ok(Self { asked })
    }

    /// Whether it was asked.
    pub(crate) fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Waits until it is asked.
    pub(crate) async fn asked(&mut self) {
        // The sender only goes away with the runtime, and nobody waits then.
        let _ = self.asked.wait_for(|asked| *asked).await;
    }
}

/// A file that may not grow any more (`ulimit -f`) is told by the write that fails, as a full disk is: by default the
/// signal that comes with it ends the process.
pub(crate) fn survive_file_limits() -> Result<(), Failure> {
    // Once listened to, it keeps its handler for as long as the process lives.
    open(SignalKind::from_raw(Number::XFSZ.as_raw())).map(drop)
}

fn open(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::error(format!("listening for signals: {error}")))
}

async fn forward(mut terminate: Signal, mut interrupt: Signal, sender: watch::Sender<bool>) {
    next(&mut terminate, &mut interrupt).await;
    tracing::info!("asked to end: finishing the work in hand; a second signal ends at once");
    sender.send_replace(true);
    let first = Instant::now();
    while first.elapsed() < ONE_REQUEST {
        next(&mut terminate, &mut interrupt).await;
    }
    tracing::warn!("ended at once by a second signal; the next start recovers");
    std::process::exit(Exit::Error as i32);
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
