//! A producer of the application's own takes part beside a managed one.
//!
//! ```text
//! cargo run -p gtc --example own_producer -- gtc.toml eu us orders BOOTSTRAP_OF_EU
//! ```
//! The own producer is a plain rdkafka one; any Kafka client works the same way. It writes and
//! flushes as ever, tells gtc what became of its deliveries, and calls its own commit only after
//! the outcome, which is then a harmless repeat.

use std::time::Duration;

use gtc::{Config, Coordinator, Record, Reuse, VersionClass};
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

const TIMEOUT: Duration = Duration::from_secs(30);
const TRANSACTIONAL_ID: &str = "orders-writer";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, own, managed, topic, bootstrap] = arguments.as_slice() else {
        return Err("usage: own_producer CONFIG OWN MANAGED TOPIC BOOTSTRAP".into());
    };
    let coordinator = Coordinator::open(Config::from_file(file)?).await?;
    // A restart may find a promised branch: initialising the producer now would abort it.
    coordinator.settle(own, TRANSACTIONAL_ID).await?;
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("transactional.id", TRANSACTIONAL_ID)
        .create()?;
    producer.init_transactions(TIMEOUT)?;

    let transaction = coordinator.begin()?;
    let branch = transaction
        .enlist(own, TRANSACTIONAL_ID, VersionClass::V1)
        .await?;
    producer.begin_transaction()?;
    branch.sent();
    let record = FutureRecord::<(), str>::to(topic).payload("an order");
    match producer.send(record, TIMEOUT).await {
        Ok(delivery) => branch.delivered_to(topic, delivery.partition),
        Err((error, _)) => branch.failed(error),
    }
    let record = Record {
        value: Some("an order".into()),
        ..Record::to(topic.as_str())
    };
    transaction.send(managed, record).await?;
    match transaction.commit().await {
        Ok(_) => producer.commit_transaction(TIMEOUT)?,
        Err(error) => {
            eprintln!("{error}");
            producer.abort_transaction(TIMEOUT)?;
        }
    }
    if branch.finished().await? == Reuse::Discard {
        println!("this producer has to be closed and made anew");
    }
    coordinator.close().await?;
    Ok(())
}
