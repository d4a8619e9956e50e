//! The coordinator, as the callers of the façade hold it.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gtc_core::{Counters, Decision, KnownOutcome, TransactionId};

use super::consumer::{self, Consumer};
use super::pending::{Abandoned, Pending};
use super::runtime::{guard, is_forked, runtime};
use super::transaction::Transaction;
use super::verbs::meaning;
use crate::check::{self, CheckOptions, Finding};
use crate::config::Config;
use crate::consumer::ConsumerOptions;
use crate::coordinator::Coordinator as DriverCoordinator;
use crate::error::{Error, ErrorKind};
use crate::transaction::TransactionOptions;
use crate::views::{ForeignInfo, Status, TransactionInfo};

/// Where a configuration comes from.
#[derive(Clone)]
#[non_exhaustive]
pub enum Source {
    /// A TOML file.
    File(PathBuf),
    /// TOML text.
    Toml(String),
    /// Dotted keys and their values, as [`Config::from_values`] reads them.
    Values(Vec<(String, String)>),
}

impl Source {
    /// Reads the configuration.
    ///
    /// # Errors
    /// Config, with the place and a remedy.
    pub fn read(&self) -> Result<Config, Error> {
        match self {
            Self::File(path) => Config::from_file(path),
            Self::Toml(text) => Config::from_toml(text),
            Self::Values(values) => Config::from_values(values),
        }
    }
}

impl fmt::Debug for Source {
    /// The values may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "File({})", path.display()),
            Self::Toml(_) => f.write_str("Toml(hidden)"),
            Self::Values(_) => f.write_str("Values(hidden)"),
        }
    }
}

/// The newest transaction with a key, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedOutcome {
    /// Its id.
    pub id: TransactionId,
    /// How it ended.
    pub outcome: KnownOutcome,
}

/// A coordinator. Clones share one.
#[derive(Clone)]
pub struct Coordinator {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    /// Always there, but in a forked child that lets go of it.
    driver: Option<DriverCoordinator>,
    config: Config,
    closed: AtomicBool,
    /// Held while it is being closed, so that a second close waits for the first.
    closing: tokio::sync::Mutex<bool>,
    consumers: Mutex<Vec<Weak<consumer::Shared>>>,
}

/// Checks the preconditions of the guarantee without opening a coordinator.
///
/// # Errors
/// Config, for the source or an unknown participant. What is not met is a finding, and no error.
pub fn check(source: Source, options: CheckOptions) -> Pending<Vec<Finding>> {
    Pending::spawn(("check", Abandoned::Stops), async move {
        check::check(&source.read()?, options).await
    })
}

impl Coordinator {
    #[doc = meaning!(coordinator open)]
    ///
    /// # Errors
    /// Config, log (also where another process owns the log), or fenced.
    pub fn open(source: Source) -> Pending<Self> {
        Pending::spawn(("open", Abandoned::Stops), async move {
            let config = source.read()?;
            let driver = DriverCoordinator::open(config.clone()).await?;
            let shared = Shared {
                driver: Some(driver),
                config,
                closed: AtomicBool::new(false),
                closing: tokio::sync::Mutex::new(false),
                consumers: Mutex::default(),
            };
            Ok(Self {
                shared: Arc::new(shared),
            })
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.shared.config.id()
    }

    #[doc = meaning!(coordinator begin)]
    ///
    /// # Errors
    /// Unavailable where a limit is reached, closed, or why the coordinator stopped.
    pub fn begin(&self, options: TransactionOptions) -> Result<Transaction, Error> {
        let begun = self.with("begin", |driver| driver.begin_with(options))?;
        Ok(Transaction::new(begun, self.shared.clone()))
    }

    #[doc = meaning!(coordinator consumer)]
    ///
    /// # Errors
    /// Config for an unknown participant or properties that do not work; closed.
    pub fn consumer(&self, participant: &str, options: ConsumerOptions) -> Pending<Consumer> {
        const OPERATION: &str = "make consumer";
        let (shared, participant) = (self.shared.clone(), participant.to_owned());
        Pending::spawn((OPERATION, Abandoned::Stops), async move {
            let driver = shared.driver(OPERATION)?;
            let consumer = driver.consumer(&participant, options).await?;
            let consumer = Consumer::new(consumer, Arc::downgrade(&shared));
            shared.register(&consumer);
            // It may have been closed meanwhile, without this consumer.
            match shared.check_open(OPERATION) {
                Ok(()) => Ok(consumer),
                Err(error) => {
                    consumer.shared().close().await;
                    Err(error)
                }
            }
        })
    }

    #[doc = meaning!(coordinator settle)]
    ///
    /// # Errors
    /// Config for an unknown participant, closed, or why the coordinator ended before.
    pub fn settle(&self, participant: &str, transactional_id: &str) -> Pending<()> {
        let (participant, name) = (participant.to_owned(), transactional_id.to_owned());
        self.ask("settle", move |driver| async move {
            driver.settle(&participant, &name).await
        })
    }

    #[doc = meaning!(coordinator outcome)]
    ///
    /// # Errors
    /// Closed.
    pub fn outcome(&self, id: TransactionId) -> Result<KnownOutcome, Error> {
        self.with("outcome", |driver| Ok(driver.outcome(id)))
    }

    #[doc = meaning!(coordinator outcome_by_key)]
    ///
    /// # Errors
    /// Closed.
    pub fn outcome_by_key(&self, key: &[u8]) -> Result<Option<KeyedOutcome>, Error> {
        self.with("outcome", |driver| {
            let found = driver.outcome_by_key(key);
            Ok(found.map(|(id, outcome)| KeyedOutcome { id, outcome }))
        })
    }

    #[doc = meaning!(coordinator list)]
    ///
    /// # Errors
    /// Closed.
    pub fn list(&self) -> Result<Vec<TransactionInfo>, Error> {
        self.with("list", |driver| {
            Ok(driver.list().iter().map(TransactionInfo::from).collect())
        })
    }

    #[doc = meaning!(coordinator in_doubt)]
    ///
    /// # Errors
    /// Closed.
    pub fn in_doubt(&self) -> Result<Vec<TransactionInfo>, Error> {
        let mut listed = self.list()?;
        listed.retain(|info| matches!(info.state.as_str(), "in-doubt" | "mixed"));
        Ok(listed)
    }

    #[doc = meaning!(coordinator describe)]
    ///
    /// # Errors
    /// Closed.
    pub fn describe(&self, id: TransactionId) -> Result<Option<TransactionInfo>, Error> {
        self.with("describe", |driver| {
            Ok(driver.describe(id).as_ref().map(TransactionInfo::from))
        })
    }

    #[doc = meaning!(coordinator foreign)]
    ///
    /// # Errors
    /// Closed.
    pub fn foreign(&self) -> Result<Vec<ForeignInfo>, Error> {
        self.with("list", |driver| {
            Ok(driver.foreign().iter().map(ForeignInfo::from).collect())
        })
    }

    #[doc = meaning!(coordinator resolve)]
    ///
    /// # Errors
    /// Invalid-state for a transaction that has ended or whose decision is another; closed.
    pub fn resolve(&self, id: TransactionId, decision: Decision) -> Result<(), Error> {
        self.with("resolve", |driver| driver.resolve(id, decision).map(drop))
    }

    #[doc = meaning!(coordinator resolve_foreign)]
    ///
    /// # Errors
    /// Config for an unknown participant, invalid-state for a branch that is not listed,
    /// unavailable where the attempt failed, closed.
    pub fn resolve_foreign(
        &self,
        participant: &str,
        transactional_id: &str,
        decision: Decision,
    ) -> Pending<()> {
        let (participant, name) = (participant.to_owned(), transactional_id.to_owned());
        self.ask("resolve foreign branch", move |driver| async move {
            driver.resolve_foreign(&participant, &name, decision).await
        })
    }

    #[doc = meaning!(coordinator forget)]
    ///
    /// # Errors
    /// Invalid-state for a transaction without such an outcome; closed.
    pub fn forget(&self, id: TransactionId) -> Result<(), Error> {
        self.with("forget", |driver| driver.forget(id).map(drop))
    }

    #[doc = meaning!(coordinator recover)]
    ///
    /// # Errors
    /// Closed, or why the coordinator stopped before.
    pub fn recover(&self) -> Pending<()> {
        self.ask("recover", |driver| async move { driver.recovered().await })
    }

    #[doc = meaning!(coordinator verified)]
    ///
    /// # Errors
    /// Config for an unknown participant, closed, or why the coordinator stopped before.
    pub fn verified(&self, participant: &str) -> Pending<()> {
        let participant = participant.to_owned();
        self.ask("verify", move |driver| async move {
            driver.verified(&participant).await
        })
    }

    #[doc = meaning!(coordinator check)]
    ///
    /// # Errors
    /// Config for an unknown participant. What is not met is a finding, and no error.
    pub fn check(&self, options: CheckOptions) -> Pending<Vec<Finding>> {
        let config = self.shared.config.clone();
        Pending::spawn(("check", Abandoned::Stops), async move {
            check::check(&config, options).await
        })
    }

    #[doc = meaning!(coordinator status)]
    ///
    /// # Errors
    /// Closed.
    pub fn status(&self) -> Result<Status, Error> {
        self.with("status", |driver| Ok(driver.status()))
    }

    /// Counts since the start.
    ///
    /// # Errors
    /// Closed.
    pub fn counters(&self) -> Result<Counters, Error> {
        self.with("counters", |driver| Ok(driver.counters()))
    }

    #[doc = meaning!(coordinator close)]
    ///
    /// # Errors
    /// Timeout with the number of transactions that stay open, which the next start finishes; log
    /// if its last write failed.
    pub fn close(&self) -> Pending<()> {
        let shared = self.shared.clone();
        // Set before anything waits, so that whoever calls after this is answered closed.
        shared.closed.store(true, Ordering::SeqCst);
        Pending::spawn(
            ("close", Abandoned::GoesOn),
            async move { shared.close().await },
        )
    }

    /// A verb that answers at once.
    fn with<R>(
        &self,
        operation: &'static str,
        verb: impl FnOnce(&DriverCoordinator) -> Result<R, Error>,
    ) -> Result<R, Error> {
        guard(operation, || verb(self.shared.driver(operation)?))
    }

    /// A verb that waits for something, and can be given up without harm.
    fn ask<F>(
        &self,
        operation: &'static str,
        verb: impl FnOnce(DriverCoordinator) -> F,
    ) -> Pending<()>
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        match self.shared.driver(operation) {
            Ok(driver) => Pending::start((operation, Abandoned::Stops), verb(driver.clone())),
            Err(error) => Pending::ready(Err(error)),
        }
    }
}

impl Shared {
    pub(super) fn check_open(&self, operation: &'static str) -> Result<(), Error> {
        self.driver(operation).map(drop)
    }

    fn driver(&self, operation: &'static str) -> Result<&DriverCoordinator, Error> {
        // In a forked child it would step, and nothing would come of it.
        runtime()?;
        let closed = self.closed.load(Ordering::SeqCst);
        let driver = self.driver.as_ref().filter(|_| !closed);
        driver.ok_or_else(|| {
            Error::new(ErrorKind::Closed, operation, "the coordinator is closed")
                .with_remedy("open it again")
        })
    }

    fn register(&self, consumer: &Consumer) {
        let consumers = self.consumers.lock();
        let mut consumers = consumers.unwrap_or_else(PoisonError::into_inner);
        consumers.retain(|consumer| consumer.strong_count() > 0);
        consumers.push(Arc::downgrade(consumer.shared()));
    }

    async fn close(&self) -> Result<(), Error> {
        let mut closed = self.closing.lock().await;
        if std::mem::replace(&mut *closed, true) {
            return Ok(());
        }
        let consumers = std::mem::take(
            &mut *self
                .consumers
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        let consumers: Vec<_> = consumers.iter().filter_map(Weak::upgrade).collect();
        consumers.iter().for_each(|consumer| consumer.end());
        let result = match &self.driver {
            Some(driver) => driver.close().await,
            None => Ok(()),
        };
        // After the transactions: their ends decide what becomes of batches.
        for consumer in consumers {
            consumer.close().await;
        }
        result
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if is_forked() {
            // Its threads are the parent's, and so is its log.
            std::mem::forget(self.driver.take());
        }
    }
}

impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
