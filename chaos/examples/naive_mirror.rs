//! A mirror as one would write it without a coordinator: it takes the place of gtc in a test, to show that the kills and
//! the checker find out a program that commits one cluster after the other.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::time::{Duration, Instant};

use gtc_chaos::kafka::Connection;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Offset, TopicPartitionList};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Arguments = HashMap<String, Vec<String>>;

const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "list") {
        println!("[]");
        return Ok(());
    }
    let mut arguments: Arguments = HashMap::new();
    for (name, value) in words.iter().zip(words.iter().skip(1)) {
        arguments
            .entry(name.clone())
            .or_default()
            .push(value.clone());
    }
    mirror(&arguments)
}

fn mirror(arguments: &Arguments) -> Result<()> {
    let config = std::fs::read_to_string(&arguments["--config"][0])?;
    let topic = &arguments["--topic"][0];
    let batch: usize = arguments["--batch-records"][0].parse()?;
    let consumer = consumer(&config, &arguments["--from"][0], topic)?;
    let to = &arguments["--to"];
    for name in to {
        let properties = properties(&config, name);
        // Fails from the second start on, as the topic is there.
        let _ =
            Connection::new(name, properties).create_topic(topic, partitions(&consumer, topic)?);
    }
    let producers: Vec<_> = to
        .iter()
        .map(|to| producer(&config, to))
        .collect::<Result<_>>()?;
    for number in 0.. {
        let messages: Vec<_> = (0..batch)
            .map_while(|_| consumer.poll(Duration::from_millis(500)))
            .collect::<std::result::Result<_, _>>()?;
        if messages.is_empty() {
            break;
        }
        commit(&consumer, &producers, (number, &messages))?;
    }
    Ok(())
}

fn commit(
    consumer: &BaseConsumer,
    producers: &[BaseProducer],
    (number, messages): (usize, &[BorrowedMessage<'_>]),
) -> Result<()> {
    say("begun", number);
    for producer in producers {
        producer.begin_transaction()?;
        messages
            .iter()
            .try_for_each(|message| copy(producer, message))?;
    }
    say("preparing", number);
    for producer in producers {
        producer.flush(PATIENCE)?;
    }
    say("deciding", number);
    for (at, producer) in producers.iter().enumerate() {
        producer.commit_transaction(PATIENCE)?;
        if at == 0 {
            // From here on there is no way back.
            say("decided", number);
        }
    }
    let mut ends = BTreeMap::new();
    for message in messages {
        ends.insert((message.topic(), message.partition()), message.offset() + 1);
    }
    let mut offsets = TopicPartitionList::new();
    for ((topic, partition), end) in ends {
        offsets.add_partition_offset(topic, partition, Offset::Offset(end))?;
    }
    consumer.commit(&offsets, CommitMode::Sync)?;
    say("completed", number);
    Ok(())
}

fn copy(producer: &BaseProducer, message: &BorrowedMessage<'_>) -> Result<()> {
    let mut record = BaseRecord::<[u8], [u8]>::to(message.topic())
        .partition(message.partition())
        .timestamp(message.timestamp().to_millis().unwrap_or_default());
    record.key = message.key();
    record.payload = message.payload();
    record.headers = message
        .headers()
        .map(rdkafka::message::BorrowedHeaders::detach);
    producer.send(record).map_err(|(error, _)| error.into())
}

fn consumer(config: &str, name: &str, topic: &str) -> Result<BaseConsumer> {
    let consumer: BaseConsumer = client(config, name)
        .set("group.id", "gtc-demo")
        .set("isolation.level", "read_committed")
        .set("enable.auto.commit", "false")
        .set("auto.offset.reset", "earliest")
        .create()?;
    let mut list = TopicPartitionList::new();
    for partition in 0..partitions(&consumer, topic)? {
        list.add_partition(topic, partition);
    }
    consumer.assign(&committed(&consumer, &list)?)?;
    Ok(consumer)
}

/// The positions of the group. On a fresh cluster the first question for them only makes the broker create the topic that
/// holds them: it answers that it is no coordinator until that is done.
fn committed(consumer: &BaseConsumer, list: &TopicPartitionList) -> Result<TopicPartitionList> {
    let end = Instant::now() + PATIENCE;
    loop {
        match consumer.committed_offsets(list.clone(), PATIENCE) {
            Ok(offsets) => return Ok(offsets),
            Err(error) if Instant::now() > end => return Err(error.into()),
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

fn partitions(consumer: &BaseConsumer, topic: &str) -> Result<i32> {
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE)?;
    Ok(i32::try_from(metadata.topics()[0].partitions().len())?)
}

fn producer(config: &str, name: &str) -> Result<BaseProducer> {
    let id = format!("naive-{name}");
    let producer: BaseProducer = client(config, name).set("transactional.id", id).create()?;
    producer.init_transactions(PATIENCE)?;
    Ok(producer)
}

/// The client properties of a participant, from a file as the runs write it.
fn properties(config: &str, name: &str) -> BTreeMap<String, String> {
    let section = format!("[participants.{name}]");
    let lines = config.lines().skip_while(|line| *line != section).skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(" = "))
        .filter(|(property, _)| *property != "kind")
        .map(|(property, value)| (property.into(), value.trim_matches('"').into()))
        .collect()
}

fn client(config: &str, name: &str) -> ClientConfig {
    Connection::new(name, properties(config, name)).config()
}

fn say(phase: &str, number: usize) {
    eprintln!(r#"{{"phase":"{phase}","txn":"{number}"}}"#);
}
