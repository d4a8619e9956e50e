//! Transactions to act upon, opened by rdkafka as gtc's own slots are.

use std::collections::BTreeMap;
use std::time::Duration;

use gtc::kafka::control::ControlClient;
use gtc_core::{BrokerState, ProducerIdentity, TransactionDescription};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

const PATIENCE: Duration = Duration::from_secs(30);

/// A transactional producer.
pub struct Writer(FutureProducer);

impl Writer {
    /// Makes one, initialised.
    pub fn open(properties: &BTreeMap<String, String>, id: &str, timeout_ms: u32) -> Self {
        let mut config = ClientConfig::new();
        config.extend(properties.clone());
        let producer: FutureProducer = config
            .set("transactional.id", id)
            .set("transaction.timeout.ms", timeout_ms.to_string())
            .set("socket.timeout.ms", timeout_ms.min(10_000).to_string())
            .set("message.timeout.ms", timeout_ms.min(10_000).to_string())
            .create()
            .expect("a producer");
        tokio::task::block_in_place(|| producer.init_transactions(PATIENCE)).expect("initialised");
        Self(producer)
    }

    /// Begins a transaction and awaits the delivery of one record.
    pub async fn write(&self, topic: &str) {
        self.0.begin_transaction().expect("begun");
        let record = FutureRecord::to(topic)
            .key("key")
            .payload("value")
            .partition(0);
        self.0.send(record, PATIENCE).await.expect("delivered");
    }

    /// Commits by the producer's own call.
    pub fn commit(&self) {
        tokio::task::block_in_place(|| self.0.commit_transaction(PATIENCE)).expect("committed");
    }
}

/// Makes a topic of the cluster's default partition count.
pub async fn create_topic(properties: &BTreeMap<String, String>, topic: &str) {
    let mut config = ClientConfig::new();
    config.extend(properties.clone());
    let admin: AdminClient<DefaultClientContext> = config.create().expect("an admin client");
    let wanted = NewTopic::new(topic, -1, TopicReplication::Fixed(1));
    let created = admin
        .create_topics([&wanted], &AdminOptions::new())
        .await
        .expect("answered");
    created[0].as_ref().expect("created");
}

/// What the broker says, which has to know the id.
pub async fn describe(control: &ControlClient, id: &str) -> TransactionDescription {
    control
        .describe_transaction(id)
        .await
        .expect("answered")
        .expect("known")
}

/// Opens a transaction, whose writer lives on.
pub async fn open(
    control: &ControlClient,
    properties: &BTreeMap<String, String>,
    id: &str,
) -> (Writer, ProducerIdentity) {
    create_topic(properties, id).await;
    let writer = Writer::open(properties, id, 60_000);
    writer.write(id).await;
    let description = describe(control, id).await;
    assert_eq!(description.state, BrokerState::Ongoing);
    assert_eq!(description.timeout_ms, 60_000);
    (writer, description.producer)
}

/// Waits until the broker has written its markers and shows this state.
pub async fn await_state(control: &ControlClient, id: &str, state: BrokerState) {
    let reached = async {
        while describe(control, id).await.state != state {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached)
        .await
        .unwrap_or_else(|_| panic!("{state:?} of {id}"));
}
