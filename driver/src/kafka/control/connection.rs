//! One connection to one broker: requests are pipelined and answered in their order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::error::{Delivery, Failure};
use super::wire::{FrameReader, set_correlation_id};

/// Requests that one connection holds at a time; a broker works on one of them at a time.
const MAX_IN_FLIGHT: usize = 64;

/// A stream to a broker, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The caller's end of a connection. The connection closes when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Connection {
    commands: mpsc::Sender<Command>,
    permits: Arc<Semaphore>,
    shared: Arc<Shared>,
}

/// Whether a request may have reached the broker; decided once, by whoever comes first.
#[derive(Default)]
struct Fate(AtomicU8);

impl Fate {
    const SENT: u8 = 1;
    const WITHDRAWN: u8 = 2;

    /// Whether this call was the one that decided.
    fn settle(&self, fate: u8) -> bool {
        self.0
            .compare_exchange(0, fate, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// Withdraws a request whose caller has gone, unless it is on its way already.
struct Withdraw(Arc<Fate>);

impl Drop for Withdraw {
    fn drop(&mut self) {
        self.0.settle(Fate::WITHDRAWN);
    }
}

struct Command {
    frame: BytesMut,
    fate: Arc<Fate>,
    pending: Pending,
}

struct Pending {
    correlation_id: i32,
    deadline: Instant,
    reply: oneshot::Sender<Result<Bytes, Failure>>,
    _permit: OwnedSemaphorePermit,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
    kill: Notify,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Pending>,
    closed: Option<Failure>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, and the state is whole between two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close_reason(&self) -> Failure {
        let closed = self.lock().closed.clone();
        closed.unwrap_or_else(|| Failure::unavailable("the connection is closed"))
    }
}

impl Connection {
    /// Takes over a stream. Without a request for `idle` it is closed.
    pub(super) fn start(stream: Box<dyn Stream>, idle: Option<Duration>) -> Self {
        let (commands, queue) = mpsc::channel(MAX_IN_FLIGHT);
        let shared = Arc::new(Shared::default());
        tokio::spawn(run(stream, queue, Arc::clone(&shared), idle));
        Self {
            commands,
            permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            shared,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.commands.is_closed()
    }

    /// Closes the connection because its peer cannot be trusted to speak the protocol.
    pub(super) fn kill(&self) {
        self.shared.kill.notify_one();
    }

    /// Sends one encoded request and awaits its answer.
    ///
    /// If the future is dropped, the request is withdrawn as long as it has not been written.
    pub(super) async fn exchange(&self, frame: BytesMut, deadline: Instant) -> Delivery<Bytes> {
        let permit = match timeout_at(deadline, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            // The semaphore is never closed.
            Ok(Err(_)) => return Delivery::NotSent(self.shared.close_reason()),
            Err(_) => return Delivery::NotSent(Failure::timeout("too many requests wait")),
        };
        let (reply, answer) = oneshot::channel();
        let fate = Arc::new(Fate::default());
        let _withdraw = Withdraw(Arc::clone(&fate));
        let pending = Pending {
            correlation_id: 0,
            deadline,
            reply,
            _permit: permit,
        };
        let command = Command {
            frame,
            fate: Arc::clone(&fate),
            pending,
        };
        if self.commands.send(command).await.is_err() {
            return Delivery::NotSent(self.shared.close_reason());
        }
        let failure = match timeout_at(deadline, answer).await {
            Ok(Ok(Ok(frame))) => return Delivery::Answered(frame),
            Ok(Ok(Err(failure))) => failure,
            Ok(Err(_)) => self.shared.close_reason(),
            Err(_) => Failure::timeout("no answer within the time-out"),
        };
        if fate.settle(Fate::WITHDRAWN) {
            Delivery::NotSent(failure)
        } else {
            Delivery::NoAnswer(failure)
        }
    }
}

async fn run(
    stream: Box<dyn Stream>,
    mut queue: mpsc::Receiver<Command>,
    shared: Arc<Shared>,
    idle: Option<Duration>,
) {
    let (mut reading, mut writing) = tokio::io::split(stream);
    let failure = tokio::select! {
        failure = write_requests(&mut writing, &mut queue, &shared) => failure,
        failure = read_answers(&mut reading, &shared, idle) => failure,
        () = shared.kill.notified() => Failure::protocol("an answer could not be understood"),
    };
    let pending = {
        let mut state = shared.lock();
        state.closed = Some(failure.clone());
        std::mem::take(&mut state.pending)
    };
    queue.close();
    for request in pending {
        // A caller that has gone needs no answer.
        let _ = request.reply.send(Err(failure.clone()));
    }
    while let Some(command) = queue.recv().await {
        let _ = command.pending.reply.send(Err(failure.clone()));
    }
}

async fn write_requests(
    stream: &mut (impl AsyncWrite + Unpin),
    queue: &mut mpsc::Receiver<Command>,
    shared: &Shared,
) -> Failure {
    let mut next_id = 0_i32;
    while let Some(Command {
        mut frame,
        fate,
        mut pending,
    }) = queue.recv().await
    {
        if !fate.settle(Fate::SENT) {
            continue;
        }
        set_correlation_id(&mut frame, next_id);
        pending.correlation_id = next_id;
        next_id = next_id.wrapping_add(1);
        // Registered before it is written: the answer may come before this task runs again.
        shared.lock().pending.push_back(pending);
        shared.changed.notify_one();
        let written = async {
            stream.write_all(&frame).await?;
            stream.flush().await
        };
        if let Err(error) = written.await {
            return super::wire::io_failure(&error);
        }
    }
    Failure::unavailable("the connection is no longer used")
}

async fn read_answers(
    stream: &mut (impl AsyncRead + Unpin),
    shared: &Shared,
    idle: Option<Duration>,
) -> Failure {
    let mut reader = FrameReader::default();
    let mut idle_since = Instant::now();
    loop {
        let oldest = shared
            .lock()
            .pending
            .front()
            .map(|pending| pending.deadline);
        let wake = oldest.or_else(|| idle.map(|idle| idle_since + idle));
        tokio::select! {
            frame = reader.read(stream) => match frame.and_then(|frame| deliver(frame, shared)) {
                Ok(()) => idle_since = Instant::now(),
                Err(failure) => return failure,
            },
            () = shared.changed.notified() => {}
            () = sleep_until(wake.unwrap_or(idle_since)), if wake.is_some() => {
                // A request may have come in the moment before.
                let front = shared.lock().pending.front().map(|pending| pending.deadline);
                match front {
                    Some(deadline) if deadline <= Instant::now() => {
                        return Failure::timeout("the broker did not answer within the time-out");
                    }
                    None if oldest.is_none() => {
                        return Failure::unavailable("the connection was idle");
                    }
                    _ => {}
                }
            }
        }
    }
}

fn deliver(mut frame: Bytes, shared: &Shared) -> Result<(), Failure> {
    let whole = frame.clone();
    // The frame reader gives out no frame below four bytes.
    let correlation_id = frame.get_i32();
    let pending = shared.lock().pending.pop_front();
    match pending {
        Some(pending) if pending.correlation_id == correlation_id => {
            // A caller that has gone needs no answer.
            let _ = pending.reply.send(Ok(whole));
            Ok(())
        }
        other => {
            let failure = Failure::protocol("the answer is to no request of this connection");
            if let Some(pending) = other {
                let _ = pending.reply.send(Err(failure.clone()));
            }
            Err(failure)
        }
    }
}
