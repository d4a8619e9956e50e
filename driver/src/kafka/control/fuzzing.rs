//! Plays a broker that may answer anything against the real client, in memory and in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gtc_core::{ProducerIdentity, VersionClass};
use kafka_protocol::messages::ApiKey;
use tokio::time::timeout;

use super::dial::Dialer;
use super::fake::{Log, Reaction, Script, Seen, serve};
use super::{Attempt, ConfigResource, ControlClient, EndTxnAnswer, OffsetQuery};
use crate::kafka::properties::Properties;

/// Far above what any call may take, as its requests have a second each.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);
const STREAM_BYTES: usize = 64 * 1024;
const PRODUCER: ProducerIdentity = ProducerIdentity {
    producer_id: 7,
    epoch: 3,
};

/// What the broker does about one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The right answer.
    Honest,
    /// The right answer, but for some bytes.
    Edited {
        /// Places and what stands there instead; places count round the end.
        edits: Vec<(u16, u8)>,
        /// How many bytes are cut off its end.
        cut: u16,
        /// What follows it.
        tail: Vec<u8>,
    },
    /// A body of these bytes, behind the right length and correlation id.
    Body(Vec<u8>),
    /// These bytes as they are.
    Raw(Vec<u8>),
    /// A token of SASL, where every byte 1 stands for the client's nonce.
    Token(Vec<u8>),
    /// The answer to another request.
    WrongCorrelation,
    /// Half an answer.
    Cut,
    /// The connection closes.
    Close,
    /// None.
    Silence,
}

/// What the client is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// `end_transaction`, class v1.
    EndV1,
    /// `end_transaction`, class v2.
    EndV2,
    /// `init_producer_id`.
    Initialise,
    /// `inquire`.
    Inquire,
    /// `list_transactions`.
    List,
    /// `cluster`.
    Cluster,
    /// `topics`.
    Topics,
    /// `finalized_features`.
    Features,
    /// `describe_configs` of a broker.
    BrokerConfigs,
    /// `describe_configs` of a topic.
    TopicConfigs,
    /// `list_offsets`.
    Offsets,
    /// `remove_member`.
    RemoveMember,
}

impl Call {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::EndV1,
        Self::EndV2,
        Self::Initialise,
        Self::Inquire,
        Self::List,
        Self::Cluster,
        Self::Topics,
        Self::Features,
        Self::BrokerConfigs,
        Self::TopicConfigs,
        Self::Offsets,
        Self::RemoveMember,
    ];
}

/// One meeting of client and broker.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// The client's properties, from [`properties`].
    pub properties: Properties,
    /// The calls, one after the other.
    pub calls: Vec<Call>,
    /// The broker's answers, in order; after the last one it is honest.
    pub answers: Vec<Answer>,
}

impl Meeting {
    /// Runs it.
    ///
    /// # Panics
    /// Where the client breaks a promise: it hangs, changes a transaction twice, or reports
    /// otherwise than it happened.
    pub fn play(self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(self.run());
    }

    async fn run(self) {
        let changes = Arc::new(AtomicUsize::new(0));
        let answers: Mutex<VecDeque<Answer>> = Mutex::new(self.answers.into());
        let counted = Arc::clone(&changes);
        let script: Script = Arc::new(move |seen: &Seen| {
            if matches!(seen.key, ApiKey::EndTxn | ApiKey::InitProducerId) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            let next = answers.lock().unwrap_or_else(PoisonError::into_inner);
            react(seen, { next }.pop_front().unwrap_or(Answer::Honest))
        });
        let log: Arc<Mutex<Log>> = Arc::default();
        let dialer = Dialer::Memory(Box::new(move |endpoint| {
            let (here, there) = tokio::io::duplex(STREAM_BYTES);
            let (script, log, port) = (Arc::clone(&script), Arc::clone(&log), endpoint.port);
            tokio::spawn(async move { serve(there, port, &script, &log).await });
            Box::new(here)
        }));
        let client = ControlClient::over(&self.properties, dialer);
        for call in self.calls {
            changes.store(0, Ordering::Relaxed);
            perform(&client, call, &changes).await;
        }
    }
}

/// Properties with a SASL mechanism, or without.
///
/// # Panics
/// If there is no such mechanism.
#[must_use]
pub fn properties(mechanism: Option<&str>) -> Properties {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut set = |name: &str, value: &str| values.insert(name.to_owned(), value.to_owned());
    set("bootstrap.servers", "broker:9092");
    set("socket.timeout.ms", "1000");
    if let Some(mechanism) = mechanism {
        set("security.protocol", "sasl_plaintext");
        set("sasl.mechanism", mechanism);
        set("sasl.username", "ann");
        set("sasl.password", "planted-7f3a");
    }
    Properties::parse("eu", values).expect("valid")
}

fn react(seen: &Seen, answer: Answer) -> Reaction {
    match answer {
        Answer::Honest => seen.honest(),
        Answer::Edited { edits, cut, tail } => edited(seen.honest(), &edits, (cut, &tail)),
        Answer::Body(bytes) => Reaction::Body(Bytes::from(bytes)),
        Answer::Raw(bytes) => Reaction::Raw(Bytes::from(bytes)),
        Answer::Token(token) if seen.key == ApiKey::SaslAuthenticate => seen.sasl_reply(&token),
        Answer::Token(token) => Reaction::Body(Bytes::from(token)),
        Answer::WrongCorrelation => Reaction::WrongCorrelation,
        Answer::Cut => Reaction::Cut,
        Answer::Close => Reaction::Close,
        Answer::Silence => Reaction::Silence,
    }
}

fn edited(honest: Reaction, edits: &[(u16, u8)], (cut, tail): (u16, &[u8])) -> Reaction {
    let Reaction::Body(body) = honest else {
        return honest;
    };
    let mut body = body.to_vec();
    for (place, byte) in edits {
        let length = body.len().max(1);
        if let Some(slot) = body.get_mut(usize::from(*place) % length) {
            *slot = *byte;
        }
    }
    body.truncate(body.len().saturating_sub(cut.into()));
    body.extend_from_slice(tail);
    Reaction::Body(body.into())
}

async fn perform(client: &ControlClient, call: Call, changes: &AtomicUsize) {
    match call {
        Call::EndV1 => {
            let ended = client.end_transaction("id", PRODUCER, VersionClass::V1, true);
            check_once(patient(ended).await, changes);
        }
        Call::EndV2 => {
            let ended = client.end_transaction("id", PRODUCER, VersionClass::V2, false);
            check_once(patient(ended).await, changes);
        }
        Call::Initialise => {
            check_once(patient(client.init_producer_id("id", 1)).await, changes);
        }
        Call::Inquire => drop(patient(client.inquire("id")).await),
        Call::List => drop(patient(client.list_transactions("gtc.")).await),
        Call::Cluster => check_text(patient(client.cluster()).await),
        Call::Topics => check_text(patient(client.topics()).await),
        Call::Features => check_text(patient(client.finalized_features()).await),
        Call::BrokerConfigs => {
            let resource = ConfigResource::Broker(1);
            check_text(patient(client.describe_configs(&resource)).await);
        }
        Call::TopicConfigs => {
            let resource = ConfigResource::Topic("topic".to_owned());
            check_text(patient(client.describe_configs(&resource)).await);
        }
        Call::Offsets => {
            check_text(patient(client.list_offsets("topic", OffsetQuery::Latest)).await);
        }
        Call::RemoveMember => check_text(patient(client.remove_member("group", "one")).await),
    }
}

async fn patient<T>(call: impl Future<Output = T>) -> T {
    timeout(PATIENCE, call).await.expect("the client hangs")
}

fn check_text<T>(result: Result<T, super::ControlError>) {
    if let Err(error) = result {
        check_words(&error);
    }
}

fn check_words(error: &super::ControlError) {
    let text = format!("{error} {error:?}");
    assert!(!text.contains("planted-7f3a"), "a secret is printed");
}

/// What changes a transaction is sent once at most, and what was sent is not called unsent.
fn check_once(attempt: Attempt<EndTxnAnswer>, changes: &AtomicUsize) {
    let sent = changes.load(Ordering::Relaxed);
    assert!(sent <= 1, "the request was sent {sent} times");
    match attempt {
        Attempt::Answered(_) => assert_eq!(sent, 1, "answered, and nothing was sent"),
        Attempt::NoAnswer(error) => check_words(&error),
        Attempt::NotSent(error) => {
            check_words(&error);
            assert_eq!(sent, 0, "called unsent, and the broker has it: {error}");
        }
    }
}
