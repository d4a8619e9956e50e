//! Runs the core's actions: each is a task that ends in one response.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use gtc_core::{
    Action, ActionId, AppendFailure, Durability, EndAnswer, Inquiry, Listing, ParticipantId,
    PrepareReport, Record, Request, Response, SlotCondition, SlotFailure, TransactionId,
    WriteReport, Writer,
};
use tracing::Instrument;

use super::{Engine, State, trace};
use crate::crash::{self, Side};
use crate::log::{self, LogError, LogErrorKind, LogWrite, Receipt};
use crate::participant::Participant;

/// What is known of an action beside itself.
struct Running {
    id: ActionId,
    action: Action,
    participant: Arc<str>,
    transaction: Option<TransactionId>,
}

impl Engine {
    /// Begins an action. Log writes are submitted here, under the lock, in the order of the
    /// core's outputs; all else begins in its task.
    pub(super) fn act(self: &Arc<Self>, state: &mut State, id: ActionId, action: Action) {
        let transaction = state.trace.action(&action);
        let participant = match action.participant() {
            Some(participant) => state.trace.name(participant),
            None => Arc::from(""),
        };
        let running = Running {
            id,
            action,
            participant,
            transaction,
        };
        running.point(Side::Before);
        let receipt = self.submit(state, &running.action);
        let engine = self.clone();
        // Without a parent: one action leads to the next, and a chain of spans would never end.
        let span = tracing::debug_span!(
            target: "gtc",
            parent: None,
            "action",
            name = running.action.name(),
            participant = &*running.participant,
        );
        let task = async move {
            let began = Instant::now();
            let work = async {
                match receipt {
                    Some(receipt) => appended(receipt.await),
                    None => engine.perform(&running.action).await,
                }
            };
            let response = match caught(work).await {
                Ok(response) => response,
                Err(panic) => engine.broken(&running, panic),
            };
            running.point(Side::After);
            let of = (&running.action, running.transaction);
            trace::answered(&running.participant, of, &response, began.elapsed());
            engine.respond(running.id, response);
        };
        self.runtime.spawn(task.instrument(span));
    }

    fn submit(&self, state: &mut State, action: &Action) -> Option<Receipt> {
        let write = match action {
            Action::Append {
                records,
                durability,
            } => {
                records.iter().for_each(|record| state.trace.record(record));
                LogWrite::Append {
                    entries: records.iter().map(Record::encode).collect(),
                    durability: match durability {
                        Durability::Forced => log::Durability::Forced,
                        Durability::Lazy => log::Durability::Lazy,
                    },
                }
            }
            Action::Checkpoint { snapshot } => LogWrite::Checkpoint {
                snapshot: snapshot.iter().map(Record::encode).collect(),
            },
            _ => return None,
        };
        Some(self.log.submit(write))
    }

    async fn perform(&self, action: &Action) -> Response {
        let driver = action
            .participant()
            .and_then(|participant| self.driver(participant));
        match driver {
            Some(driver) => self.perform_on(driver, action).await,
            // The core takes participants from the configuration that this list was made of.
            None => Response::ConnectFailed("there is no such participant".to_owned()),
        }
    }

    async fn perform_on(&self, driver: &dyn Participant, action: &Action) -> Response {
        match action.clone() {
            Action::OpenSlot {
                slot,
                transactional_id,
                timeout_ms,
                ..
            } => match driver.open_slot(slot, transactional_id, timeout_ms).await {
                Ok((producer, condition)) => Response::SlotOpened {
                    producer,
                    condition,
                },
                Err(failure) => Response::SlotFailed(failure),
            },
            Action::VerifySlot { slot, .. } => {
                Response::SlotVerified(driver.verify_slot(slot).await)
            }
            Action::CloseSlot { slot, .. } => {
                driver.close_slot(slot).await;
                Response::SlotClosed
            }
            Action::Prepare {
                transaction,
                participant,
                writer,
                transactional_id,
            } => {
                let branch = (transaction, participant);
                Response::Prepared(
                    self.prepare(driver, branch, (writer, transactional_id))
                        .await,
                )
            }
            Action::EndByWriter {
                transaction,
                slot,
                decision,
                ..
            } => Response::Ended(driver.end_by_writer(slot, transaction, decision).await),
            Action::EndTransaction {
                branch, decision, ..
            } => Response::Ended(driver.end_transaction(branch, decision).await),
            Action::Inquire {
                transactional_id, ..
            } => Response::Inquired(driver.inquire(transactional_id).await),
            Action::Fence {
                transactional_id,
                timeout_ms,
                ..
            } => Response::Ended(driver.fence(transactional_id, timeout_ms).await),
            Action::List { prefix, .. } => Response::Listed(driver.list(prefix).await),
            _ => match driver.connect().await {
                Ok(report) => Response::Connected(report),
                Err(why) => Response::ConnectFailed(why),
            },
        }
    }

    async fn prepare(
        &self,
        driver: &dyn Participant,
        (transaction, participant): (TransactionId, ParticipantId),
        (writer, transactional_id): (Writer, Arc<str>),
    ) -> PrepareReport {
        match writer {
            Writer::Slot(slot) => {
                let prepared = driver.prepare(slot, transaction, transactional_id).await;
                if let Some(flaw) = prepared.never_accepted {
                    self.note_never_accepted(transaction, flaw);
                }
                prepared.report
            }
            Writer::Own(own) => {
                let timeout = Duration::from_millis(self.limits.own_delivery_timeout_ms);
                let deliveries = self.own.open(transaction, participant, own);
                let told = deliveries.settled(timeout).await;
                let (inquiry, partitions) = driver.inquire_extent(transactional_id).await;
                PrepareReport {
                    strayed: told.strayed(&partitions),
                    writes: told.report,
                    writer: None,
                    inquiry: Some(inquiry),
                }
            }
        }
    }

    /// An action that panicked is one without an answer, and its participant is not trusted any more.
    fn broken(self: &Arc<Self>, running: &Running, panic: String) -> Response {
        let action = running.action.name();
        tracing::error!(
            target: "gtc",
            participant = &*running.participant,
            action,
            panic,
            "a defect of gtc: the participant is stopped until a restart"
        );
        let why = format!("`{action}` failed by a defect of gtc: {panic}");
        if let Some(participant) = running.action.participant() {
            let why = why.clone();
            // Refused by a coordinator that has ended.
            let _ = self.request(Request::Broken { participant, why });
        }
        unanswered(&running.action, why)
    }

    fn driver(&self, participant: ParticipantId) -> Option<&dyn Participant> {
        let (_, driver) = self.participants.get(usize::from(participant.0))?;
        Some(&**driver)
    }
}

impl Running {
    fn point(&self, side: Side) {
        let participant = Some(&*self.participant).filter(|name| !name.is_empty());
        crash::point(self.action.name(), participant, side);
        if let Action::Append { records, .. } = &self.action {
            for record in records.iter() {
                crash::point(trace::record_step(record), participant, side);
            }
        }
    }
}

fn appended(outcome: Result<(), LogError>) -> Response {
    match outcome {
        Ok(()) => Response::Appended,
        Err(error) => Response::AppendFailed(match error.kind() {
            LogErrorKind::Full | LogErrorKind::TooLarge => AppendFailure::Refused(error.problem()),
            _ => AppendFailure::Unknown(error.problem()),
        }),
    }
}

/// Runs a future to its end, or to its panic, whose text is the error.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        // What a panic leaves behind is dropped, or made to hold its own (see the locks).
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(text_of(&*panic))),
        }
    })
    .await
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text").to_owned()
}

/// The response to an action of which nobody knows what it did. Never one that says that it succeeded.
fn unanswered(action: &Action, why: String) -> Response {
    match action {
        Action::Append { .. } | Action::Checkpoint { .. } => {
            Response::AppendFailed(AppendFailure::Unknown(why))
        }
        Action::OpenSlot { .. } => Response::SlotFailed(SlotFailure {
            timeout_above_ceiling: false,
            detail: why,
        }),
        Action::VerifySlot { .. } => Response::SlotVerified(SlotCondition::Unproven(why)),
        Action::CloseSlot { .. } => Response::SlotClosed,
        Action::Prepare { .. } => Response::Prepared(PrepareReport {
            writes: WriteReport {
                failed: 1,
                detail: Some(why),
                ..WriteReport::default()
            },
            writer: None,
            inquiry: None,
            strayed: None,
        }),
        Action::EndByWriter { .. } | Action::EndTransaction { .. } | Action::Fence { .. } => {
            Response::Ended(EndAnswer::NoAnswer(why))
        }
        Action::Inquire { .. } => Response::Inquired(Inquiry::NoAnswer(why)),
        Action::List { .. } => Response::Listed(Listing {
            detail: Some(why),
            ..Listing::default()
        }),
        _ => Response::ConnectFailed(why),
    }
}
