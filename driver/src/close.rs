//! Closing a coordinator in bounded time.

use std::time::Duration;

use gtc_core::{Request, TransactionState};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::coordinator::Shared;
use crate::error::{Error, ErrorKind};
use crate::open::log_error;

const OPERATION: &str = "close";

pub(crate) async fn close(shared: &Shared) -> Result<(), Error> {
    // A refusal means that it is closed, or has stopped: what is held is given up all the same.
    let _ = shared.engine.request(Request::Close);
    let patience = Duration::from_millis(shared.engine.limits().close_timeout_ms);
    let drained = timeout(
        patience,
        shared.until(OPERATION, |standing| standing.drained),
    )
    .await;
    let open = shared.engine.read(|core| {
        let ended = [TransactionState::Ended, TransactionState::Mixed];
        let views = core.list().into_iter();
        views.filter(|view| !ended.contains(&view.state)).count()
    });
    shared.engine.abandon();
    if let Some(admin) = shared.admin.get() {
        admin.stop();
    }
    let mut closing = JoinSet::new();
    for (_, driver) in shared.engine.participants() {
        let driver = driver.clone();
        closing.spawn(async move { driver.close().await });
    }
    // What a participant still holds dies with the process.
    let _ = timeout(patience, closing.join_all()).await;
    shared
        .log
        .close()
        .await
        .map_err(|error| log_error(OPERATION, error))?;
    match (drained, open) {
        (Ok(_), 0) => Ok(()),
        (drained, _) => Err(left_open(open, drained.is_err())),
    }
}

fn left_open(open: usize, late: bool) -> Error {
    let (kind, why) = match late {
        true => (ErrorKind::Timeout, "close_timeout_ms passed"),
        false => (ErrorKind::Unavailable, "their participants do not answer"),
    };
    let problem = format!("{open} transactions stay open, as {why}");
    Error::new(kind, OPERATION, problem).with_remedy("open the coordinator again: it finishes them")
}
