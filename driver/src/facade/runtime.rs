//! The threads behind every façade of this process.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll};
use std::thread;

use crate::error::{Error, ErrorKind};

/// A call of a completion callback.
pub(super) type Callback = Box<dyn FnOnce() + Send>;

/// One tokio runtime and one thread for callbacks, for as long as the process lives.
pub(super) struct Runtime {
    tokio: tokio::runtime::Runtime,
    callbacks: Sender<Callback>,
    process: u32,
}

/// The runtime of this process, started at its first use.
///
/// # Errors
/// Internal where the system gives no threads, unsupported in a forked child: its threads stayed
/// in the parent.
pub(super) fn runtime() -> Result<&'static Runtime, Error> {
    let started = RUNTIME.get_or_init(|| Runtime::start().map_err(|error| error.to_string()));
    match started {
        Ok(runtime) if runtime.process == std::process::id() => Ok(runtime),
        Ok(_) => {
            let problem = "this process was forked after gtc had started its threads";
            Err(Error::new(ErrorKind::Unsupported, "start", problem)
                .with_remedy("start the child by spawn or exec, or use gtc only after the fork"))
        }
        Err(why) => {
            let problem = format!("no threads: {why}");
            Err(Error::new(ErrorKind::Internal, "start", problem))
        }
    }
}

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

/// Whether the threads of what was made here stayed in another process.
pub(super) fn is_forked() -> bool {
    let started = RUNTIME.get().and_then(|started| started.as_ref().ok());
    started.is_some_and(|runtime| runtime.process != std::process::id())
}

impl Runtime {
    fn start() -> std::io::Result<Self> {
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .thread_name("gtc")
            .enable_all()
            .build()?;
        let (callbacks, queue) = channel();
        thread::Builder::new()
            .name("gtc-callback".to_owned())
            .spawn(move || call(&queue))?;
        Ok(Self {
            tokio,
            callbacks,
            process: std::process::id(),
        })
    }

    pub(super) fn tokio(&self) -> &tokio::runtime::Runtime {
        &self.tokio
    }

    /// Runs `callback` on the thread for callbacks, in the order of the calls.
    pub(super) fn call(&self, callback: Callback) {
        // The thread ends with the process only.
        let _ = self.callbacks.send(callback);
    }
}

fn call(queue: &Receiver<Callback>) {
    for callback in queue {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
            let why = panic_text(&*panic);
            tracing::error!(target: "gtc", why, "a completion callback panicked");
        }
    }
}

/// Runs `work`; a panic in it becomes an error.
pub(super) fn guard<T>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(panic_error(operation, &*panic)))
}

/// A future whose panics become errors.
pub(super) struct Guarded<T> {
    operation: &'static str,
    work: Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>,
}

impl<T> Guarded<T> {
    pub(super) fn new(
        operation: &'static str,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Self {
        let work = Box::pin(work);
        Self { operation, work }
    }
}

impl<T> Future for Guarded<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let operation = self.operation;
        let work = self.work.as_mut();
        // After a panic the future is ready, and nobody polls it again.
        catch_unwind(AssertUnwindSafe(|| work.poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(Err(panic_error(operation, &*panic))))
    }
}

fn panic_error(operation: &'static str, panic: &(dyn Any + Send)) -> Error {
    let problem = format!("gtc panicked: {}", panic_text(panic));
    Error::new(ErrorKind::Internal, operation, problem)
        .with_remedy("report this defect; ask for the outcome of the transactions under way")
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
