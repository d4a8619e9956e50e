//! The real side: each step of a sequence as a request on the wire.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use gtc_core::{BrokerState, Decision, Inquiry, ProducerIdentity, TransactionDescription};
use gtc_sim::model::call::{Call, Reply};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse, ApiKey, DescribeTransactionsRequest, DescribeTransactionsResponse,
    EndTxnRequest, EndTxnResponse, GroupId, InitProducerIdRequest, InitProducerIdResponse,
    ListTransactionsRequest, ListTransactionsResponse, ProduceRequest, ProduceResponse, TopicName,
    TransactionalId, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::{
    Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};

use gtc_core::VersionClass;

use crate::wire::Connection;

/// How long a broker may take to write markers.
const PATIENCE: Duration = Duration::from_secs(20);

/// A real broker, seen through one connection.
pub struct Real {
    connection: Connection,
    topic: &'static str,
    /// Records delivered so far, by producer: the next sequence number.
    sequences: HashMap<ProducerIdentity, i32>,
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn id(name: &str) -> TransactionalId {
    text(name).into()
}

fn reply(code: i16, producer: ProducerIdentity) -> Reply {
    match code {
        0 => Reply::Done(producer),
        code => Reply::Code(code),
    }
}

impl Real {
    /// Connects.
    pub fn open(bootstrap: &str, topic: &'static str) -> Self {
        Self {
            connection: Connection::open(bootstrap),
            topic,
            sequences: HashMap::new(),
        }
    }

    /// Sends what the call stands for.
    pub fn call(&mut self, call: &Call) -> Reply {
        match call {
            Call::Init { id, timeout_ms } => self.init(id, *timeout_ms),
            Call::End {
                id,
                producer,
                version,
                decision,
                ..
            } => self.end(id, *producer, (*version, *decision)),
            Call::Add { id, producer, .. } => self.add(id, *producer),
            Call::Write {
                id,
                producer,
                class,
                ..
            } => self.write(id, *producer, *class),
            Call::Offsets { .. } => self.offsets(call),
        }
    }

    fn init(&mut self, name: &str, timeout_ms: i32) -> Reply {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(id(name)))
            .with_transaction_timeout_ms(timeout_ms)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1);
        let answer: InitProducerIdResponse =
            self.connection.ask(ApiKey::InitProducerId, 4, &request);
        let producer = ProducerIdentity {
            producer_id: answer.producer_id.0,
            epoch: answer.producer_epoch,
        };
        reply(answer.error_code, producer)
    }

    fn end(
        &mut self,
        name: &str,
        producer: ProducerIdentity,
        (version, decision): (i16, Decision),
    ) -> Reply {
        let request = EndTxnRequest::default()
            .with_transactional_id(id(name))
            .with_producer_id(producer.producer_id.into())
            .with_producer_epoch(producer.epoch)
            .with_committed(decision == Decision::Commit);
        let answer: EndTxnResponse = self.connection.ask(ApiKey::EndTxn, version, &request);
        let next = if version >= 5 {
            ProducerIdentity {
                producer_id: answer.producer_id.0,
                epoch: answer.producer_epoch,
            }
        } else {
            producer
        };
        reply(answer.error_code, next)
    }

    fn add(&mut self, name: &str, producer: ProducerIdentity) -> Reply {
        let topic = AddPartitionsToTxnTopic::default()
            .with_name(TopicName(text(self.topic)))
            .with_partitions(vec![0]);
        let request = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(id(name))
            .with_v3_and_below_producer_id(producer.producer_id.into())
            .with_v3_and_below_producer_epoch(producer.epoch)
            .with_v3_and_below_topics(vec![topic]);
        let answer: AddPartitionsToTxnResponse =
            self.connection.ask(ApiKey::AddPartitionsToTxn, 0, &request);
        let partitions = &answer.results_by_topic_v3_and_below[0].results_by_partition;
        reply(partitions[0].partition_error_code, producer)
    }

    fn write(&mut self, name: &str, producer: ProducerIdentity, class: VersionClass) -> Reply {
        let version = match class {
            VersionClass::V1 => 9,
            VersionClass::V2 => 12,
        };
        let sequence = self.sequences.get(&producer).copied().unwrap_or(0);
        let data = PartitionProduceData::default()
            .with_index(0)
            .with_records(Some(batch(producer, sequence).freeze()));
        let topic = TopicProduceData::default()
            .with_name(TopicName(text(self.topic)))
            .with_partition_data(vec![data]);
        let request = ProduceRequest::default()
            .with_transactional_id(Some(id(name)))
            .with_acks(-1)
            .with_timeout_ms(10_000)
            .with_topic_data(vec![topic]);
        let answer: ProduceResponse = self.connection.ask(ApiKey::Produce, version, &request);
        let code = answer.responses[0].partition_responses[0].error_code;
        if code == 0 {
            *self.sequences.entry(producer).or_default() += 1;
        }
        reply(code, producer)
    }

    fn offsets(&mut self, call: &Call) -> Reply {
        let Call::Offsets {
            id: name,
            producer,
            class,
            generation,
            offset,
            ..
        } = call
        else {
            unreachable!("only Offsets are offsets");
        };
        let group = GroupId(text(&format!("group-{name}")));
        if *class == VersionClass::V1 {
            let request = AddOffsetsToTxnRequest::default()
                .with_transactional_id(id(name))
                .with_producer_id(producer.producer_id.into())
                .with_producer_epoch(producer.epoch)
                .with_group_id(group.clone());
            let answer: AddOffsetsToTxnResponse =
                self.connection.ask(ApiKey::AddOffsetsToTxn, 0, &request);
            if answer.error_code != 0 {
                return Reply::Code(answer.error_code);
            }
        }
        let partition = TxnOffsetCommitRequestPartition::default()
            .with_partition_index(0)
            .with_committed_offset(*offset as i64);
        let topic = TxnOffsetCommitRequestTopic::default()
            .with_name(TopicName(text(self.topic)))
            .with_partitions(vec![partition]);
        let request = TxnOffsetCommitRequest::default()
            .with_transactional_id(id(name))
            .with_group_id(group)
            .with_producer_id(producer.producer_id.into())
            .with_producer_epoch(producer.epoch)
            .with_generation_id(*generation)
            .with_topics(vec![topic]);
        let version = match class {
            VersionClass::V1 => 3,
            VersionClass::V2 => 5,
        };
        let answer: TxnOffsetCommitResponse =
            self.connection
                .ask(ApiKey::TxnOffsetCommit, version, &request);
        reply(answer.topics[0].partitions[0].error_code, *producer)
    }

    /// DescribeTransactions, once no markers are being written any more.
    pub fn describe(&mut self, name: &str) -> Inquiry {
        let began = Instant::now();
        loop {
            let found = self.describe_now(name);
            let ending = |found: &TransactionDescription| {
                found.state.is_open() && found.state != BrokerState::Ongoing
            };
            match &found {
                Inquiry::Described(now) if ending(now) => {}
                _ => return found,
            }
            assert!(began.elapsed() < PATIENCE, "{name} stays {found:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until nothing is open under an id any more.
    pub fn await_end(&mut self, name: &str, patience: Duration) {
        let began = Instant::now();
        while let Inquiry::Described(found) = self.describe_now(name)
            && found.state.is_open()
        {
            assert!(began.elapsed() < patience, "{name} stays {found:?}");
            thread::sleep(Duration::from_millis(25));
        }
    }

    fn describe_now(&mut self, name: &str) -> Inquiry {
        let request = DescribeTransactionsRequest::default().with_transactional_ids(vec![id(name)]);
        let answer: DescribeTransactionsResponse =
            self.connection
                .ask(ApiKey::DescribeTransactions, 0, &request);
        let found = &answer.transaction_states[0];
        const TRANSACTIONAL_ID_NOT_FOUND: i16 = 105;
        match found.error_code {
            0 => Inquiry::Described(TransactionDescription {
                state: state(&found.transaction_state),
                producer: ProducerIdentity {
                    producer_id: found.producer_id.0,
                    epoch: found.producer_epoch,
                },
                start_time_ms: found.transaction_start_time_ms,
                timeout_ms: found.transaction_timeout_ms,
            }),
            TRANSACTIONAL_ID_NOT_FOUND => Inquiry::NotFound,
            code => Inquiry::Refused(code),
        }
    }

    /// ListTransactions: producer id and state of this id, if it is listed.
    pub fn listed(&mut self, name: &str) -> Option<(i64, BrokerState)> {
        let answer: ListTransactionsResponse = self.connection.ask(
            ApiKey::ListTransactions,
            0,
            &ListTransactionsRequest::default(),
        );
        let found = answer
            .transaction_states
            .iter()
            .find(|found| *found.transactional_id.0 == *name)?;
        Some((found.producer_id.0, state(&found.transaction_state)))
    }
}

fn state(name: &str) -> BrokerState {
    match name {
        "Empty" => BrokerState::Empty,
        "Ongoing" => BrokerState::Ongoing,
        "PrepareCommit" => BrokerState::PrepareCommit,
        "PrepareAbort" => BrokerState::PrepareAbort,
        "CompleteCommit" => BrokerState::CompleteCommit,
        "CompleteAbort" => BrokerState::CompleteAbort,
        "PrepareEpochFence" => BrokerState::PrepareEpochFence,
        other => panic!("a state that the model does not know: {other}"),
    }
}

fn batch(producer: ProducerIdentity, sequence: i32) -> BytesMut {
    let record = Record {
        transactional: true,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: -1,
        producer_id: producer.producer_id,
        producer_epoch: producer.epoch,
        timestamp_type: TimestampType::Creation,
        offset: 0,
        sequence,
        timestamp: 1,
        key: None,
        value: Some("x".into()),
        headers: IndexMap::new(),
    };
    let mut batch = BytesMut::new();
    let options = RecordEncodeOptions {
        version: 2,
        compression: Compression::None,
    };
    RecordBatchEncoder::encode(&mut batch, [&record], &options).expect("a batch");
    batch
}
