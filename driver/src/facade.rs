//! The façade that the bindings for other languages are made of.
//!
//! It says the same words as the rest of the library, in a form that has neither lifetimes nor
//! an executor: handles that can be cloned, used from any thread, and closed twice; results that
//! are waited for or called back with ([`Pending`]); panics that become errors. A binding
//! translates types and errors, and nothing else.
//!
//! ```no_run
//! use gtc::facade::{Coordinator, Source};
//! use gtc::{Record, TransactionOptions};
//!
//! # fn transfer() -> Result<(), gtc::Error> {
//! let coordinator = Coordinator::open(Source::File("gtc.toml".into())).wait()?;
//! let transaction = coordinator.begin(TransactionOptions::new())?;
//! transaction.send("eu", Record::to("orders")).wait()?;
//! transaction.send("us", Record::to("orders")).wait()?;
//! transaction.commit().wait()?;
//! coordinator.close().wait()
//! # }
//! ```
//!
//! # Threads
//!
//! All work runs on threads of gtc's own, shared by all coordinators of the process and started
//! at the first use; they do not survive a fork. Completion callbacks run on one more thread, see
//! [`Pending::on_done`].
//!
//! # Ends
//!
//! Closing a coordinator ends its transactions and consumers; what is asked of them afterwards is
//! answered `closed`. A transaction whose last handle goes away undecided asks for its abort.

mod batch;
mod consumer;
mod coordinator;
mod held;
mod own;
mod parse;
mod pending;
mod runtime;
mod transaction;
mod verbs;

pub use batch::Batch;
pub use consumer::{Consumer, Notice, NoticeKind};
pub use coordinator::{Coordinator, KeyedOutcome, Source, check};
pub use own::OwnBranch;
pub use parse::{decision, offset_reset, reuse_name, transaction_id, version_class};
pub use pending::{Canceller, Pending};
pub use transaction::Transaction;
pub use verbs::{VERBS, Verb};
