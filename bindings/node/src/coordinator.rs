//! The coordinator.

use gtc::check::CheckOptions;
use gtc::facade::{self, Source, decision, offset_reset};
use gtc::views::outcome_name;
use gtc::{BatchLimits, ConsumerOptions, Error, TransactionOptions};
use napi::Status;
use napi::bindgen_prelude::{BigInt, Either};
use napi_derive::napi;

use crate::answer::{Answer, Now, answer, done, now, read};
use crate::consumer::Consumer;
use crate::convert::{Payload, id_in, id_out, key, milliseconds};
use crate::transaction::Transaction;
use crate::views::{FindingView, ForeignView, StatusView, TransactionView, findings};

/// A configuration: the path of a file, TOML text, or dotted keys and values.
fn source(kind: &str, text: String, values: Vec<(String, String)>) -> napi::Result<Source> {
    match kind {
        "file" => Ok(Source::File(text.into())),
        "toml" => Ok(Source::Toml(text)),
        "values" => Ok(Source::Values(values)),
        _ => Err(napi::Error::new(Status::InvalidArg, "file, toml or values")),
    }
}

/// Opens a coordinator.
#[napi(catch_unwind)]
pub fn open(
    kind: String,
    text: String,
    values: Vec<(String, String)>,
) -> napi::Result<Answer<Coordinator>> {
    let pending = facade::Coordinator::open(source(&kind, text, values)?);
    Ok(answer(pending, Coordinator))
}

/// Checks the preconditions without opening a coordinator.
#[napi(catch_unwind)]
pub fn check(
    kind: String,
    text: String,
    values: Vec<(String, String)>,
    participants: Vec<String>,
    group: Option<String>,
) -> napi::Result<Answer<Vec<FindingView>>> {
    let source = source(&kind, text, values)?;
    let pending = facade::check(source, check_options(participants, group));
    Ok(answer(pending, findings))
}

fn check_options(participants: Vec<String>, group: Option<String>) -> CheckOptions {
    let options = CheckOptions::new().participants(participants);
    match group {
        Some(group) => options.group(group),
        None => options,
    }
}

/// A transaction id as people write it.
#[napi(catch_unwind)]
pub fn format_id(id: BigInt) -> Now<String> {
    now(id_in(Either::A(id)).map(|id| id.to_string()))
}

/// A transaction id from what people write.
#[napi(catch_unwind)]
pub fn parse_id(text: String) -> Now<BigInt> {
    now(id_in(Either::B(text)).map(id_out))
}

/// What a consumer is made of.
#[napi(object, object_to_js = false)]
pub struct ConsumerSettings {
    pub group: String,
    pub topics: Vec<String>,
    pub reset: String,
    pub instance: Option<String>,
    pub records_max: Option<u32>,
    pub bytes_max: Option<u32>,
    pub linger_ms: Option<f64>,
}

impl ConsumerSettings {
    fn options(self) -> napi::Result<Result<ConsumerOptions, Error>> {
        let mut options = ConsumerOptions::new(self.group, self.topics);
        options.instance = self.instance;
        let default = BatchLimits::default();
        let size = |value: Option<u32>| value.and_then(|value| usize::try_from(value).ok());
        options.limits = BatchLimits {
            records_max: size(self.records_max).unwrap_or(default.records_max),
            bytes_max: size(self.bytes_max).unwrap_or(default.bytes_max),
            linger: milliseconds(self.linger_ms)?.unwrap_or(default.linger),
        };
        Ok(offset_reset(&self.reset).map(|reset| {
            options.reset = reset;
            options
        }))
    }
}

/// The newest transaction with a key, and how it ended.
#[napi(object, object_from_js = false)]
pub struct Outcome {
    pub id: BigInt,
    pub outcome: &'static str,
}

/// Commits transactions over its participants.
#[napi]
pub struct Coordinator(facade::Coordinator);

#[napi]
impl Coordinator {
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    #[napi(catch_unwind)]
    pub fn begin(
        &self,
        key: Option<Payload<'_>>,
        timeout_ms: Option<f64>,
    ) -> napi::Result<Now<Transaction>> {
        let mut options = TransactionOptions::new();
        options.key = key.map(self::key);
        options.timeout = milliseconds(timeout_ms)?;
        Ok(now(self.0.begin(options).map(Transaction)))
    }

    #[napi(catch_unwind)]
    pub fn consumer(
        &self,
        participant: String,
        settings: ConsumerSettings,
    ) -> napi::Result<Answer<Consumer>> {
        Ok(read(settings.options()?, |options| {
            answer(self.0.consumer(&participant, options), Consumer)
        }))
    }

    #[napi(catch_unwind)]
    pub fn settle(&self, participant: String, transactional_id: String) -> Answer<()> {
        done(self.0.settle(&participant, &transactional_id))
    }

    #[napi(catch_unwind)]
    pub fn outcome(&self, id: Either<BigInt, String>) -> Now<&'static str> {
        now(id_in(id)
            .and_then(|id| self.0.outcome(id))
            .map(outcome_name))
    }

    #[napi(catch_unwind)]
    pub fn outcome_by_key(&self, key: Payload<'_>) -> Now<Option<Outcome>> {
        let found = self.0.outcome_by_key(&self::key(key));
        now(found.map(|found| {
            found.map(|keyed| Outcome {
                id: id_out(keyed.id),
                outcome: outcome_name(keyed.outcome),
            })
        }))
    }

    #[napi(catch_unwind)]
    pub fn list(&self) -> Now<Vec<TransactionView>> {
        now(self.0.list().map(views))
    }

    #[napi(catch_unwind)]
    pub fn in_doubt(&self) -> Now<Vec<TransactionView>> {
        now(self.0.in_doubt().map(views))
    }

    #[napi(catch_unwind)]
    pub fn describe(&self, id: Either<BigInt, String>) -> Now<Option<TransactionView>> {
        let described = id_in(id).and_then(|id| self.0.describe(id));
        now(described.map(|info| info.map(TransactionView::from)))
    }

    #[napi(catch_unwind)]
    pub fn foreign(&self) -> Now<Vec<ForeignView>> {
        now(self.0.foreign().map(views))
    }

    #[napi(catch_unwind)]
    pub fn resolve(&self, id: Either<BigInt, String>, decision: String) -> Now<()> {
        let decision = self::decision(&decision);
        now(id_in(id).and_then(|id| self.0.resolve(id, decision?)))
    }

    #[napi(catch_unwind)]
    pub fn resolve_foreign(
        &self,
        participant: String,
        transactional_id: String,
        decision: String,
    ) -> Answer<()> {
        read(self::decision(&decision), |decision| {
            let resolved = self
                .0
                .resolve_foreign(&participant, &transactional_id, decision);
            done(resolved)
        })
    }

    #[napi(catch_unwind)]
    pub fn forget(&self, id: Either<BigInt, String>) -> Now<()> {
        now(id_in(id).and_then(|id| self.0.forget(id)))
    }

    #[napi(catch_unwind)]
    pub fn recover(&self) -> Answer<()> {
        done(self.0.recover())
    }

    #[napi(catch_unwind)]
    pub fn verified(&self, participant: String) -> Answer<()> {
        done(self.0.verified(&participant))
    }

    #[napi(catch_unwind)]
    pub fn check(
        &self,
        participants: Vec<String>,
        group: Option<String>,
    ) -> Answer<Vec<FindingView>> {
        answer(self.0.check(check_options(participants, group)), findings)
    }

    #[napi(catch_unwind)]
    pub fn status(&self) -> Now<StatusView> {
        now(self.0.status().map(StatusView::from))
    }

    #[napi(catch_unwind)]
    pub fn close(&self) -> Answer<()> {
        done(self.0.close())
    }
}

fn views<I, V: From<I>>(listed: Vec<I>) -> Vec<V> {
    listed.into_iter().map(V::from).collect()
}
