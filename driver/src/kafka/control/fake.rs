//! A broker of a few lines, whose every answer a test decides.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, DescribeConfigsResponse, DescribeTransactionsResponse,
    EndTxnRequest, EndTxnResponse, FindCoordinatorResponse, InitProducerIdResponse,
    LeaveGroupResponse, ListOffsetsResponse, ListTransactionsResponse, MetadataResponse,
    RequestHeader, SaslAuthenticateRequest, SaslAuthenticateResponse, describe_configs_response,
    describe_transactions_response, list_offsets_response, list_transactions_response,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::connection::Stream;
use super::wire::Call;

/// What the broker does about a request.
#[derive(Clone, Debug)]
pub enum Reaction {
    /// Answers with this body, the rest of the header included where the version has one.
    Body(Bytes),
    /// Answers with this body, one byte at a time.
    Drip(Bytes),
    /// Sends these bytes as they are.
    Raw(Bytes),
    /// Answers another request than the one it got.
    WrongCorrelation,
    /// Sends half an answer and closes.
    Cut,
    Close,
    /// Neither answers nor reads any more, and keeps the connection open.
    Silence,
}

/// A request as the broker sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub key: ApiKey,
    pub version: i16,
    /// How many requests of this key came so far, this one included.
    pub count: usize,
    pub port: u16,
    body: Bytes,
}

pub type Script = Arc<dyn Fn(&Seen) -> Reaction + Send + Sync>;

#[derive(Default)]
pub struct Log {
    versions: HashMap<i16, Vec<i16>>,
    opened: usize,
    closed: usize,
}

pub struct FakeBroker {
    port: u16,
    log: Arc<Mutex<Log>>,
    accepting: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for FakeBroker {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

impl FakeBroker {
    pub async fn start(script: impl Fn(&Seen) -> Reaction + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let log = Arc::new(Mutex::new(Log::default()));
        let (script, shared): (Script, _) = (Arc::new(script), Arc::clone(&log));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.lock().expect("log").opened += 1;
                let (script, log) = (Arc::clone(&script), Arc::clone(&shared));
                tokio::spawn(async move {
                    serve(stream, port, &script, &log).await;
                    log.lock().expect("log").closed += 1;
                });
            }
        });
        Self {
            port,
            log,
            accepting: Some(accepting),
        }
    }

    /// A port on which nobody listens.
    pub async fn unbound() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        Self {
            port,
            log: Arc::default(),
            accepting: None,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The versions of all requests of a key, in the order they came.
    pub fn versions_of(&self, key: ApiKey) -> Vec<i16> {
        self.log
            .lock()
            .expect("log")
            .versions
            .get(&(key as i16))
            .cloned()
            .unwrap_or_default()
    }

    pub fn connections(&self) -> usize {
        self.log.lock().expect("log").opened
    }

    /// Waits until every connection has been closed by the client.
    pub async fn all_closed(&self, patience: Duration) {
        let closed = async {
            loop {
                {
                    let log = self.log.lock().expect("log");
                    if log.opened == log.closed {
                        return;
                    }
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(patience, closed)
            .await
            .expect("closed in time");
    }
}

/// Serves one connection until it ends or the script ends it.
pub async fn serve(mut stream: impl Stream, port: u16, script: &Script, log: &Mutex<Log>) {
    while let Some((correlation, seen)) = read_request(&mut stream, port, log).await {
        let answered = match script(&seen) {
            Reaction::Body(body) => stream.write_all(&frame(correlation, &body)).await,
            Reaction::Drip(body) => drip(&mut stream, &frame(correlation, &body)).await,
            Reaction::Raw(bytes) => {
                let sent = stream.write_all(&bytes).await;
                wait_for_end(&mut stream).await;
                sent
            }
            Reaction::WrongCorrelation => stream.write_all(&frame(correlation + 1, &[0; 7])).await,
            Reaction::Cut => {
                let _ = stream.write_all(&[0, 0, 0, 40, 0, 0]).await;
                return;
            }
            Reaction::Close => return,
            Reaction::Silence => {
                // Held open, unread, for as long as the test runs.
                std::future::pending::<()>().await;
                return;
            }
        };
        if answered.is_err() {
            return;
        }
    }
}

async fn drip(stream: &mut impl Stream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        stream.write_all(&[*byte]).await?;
        stream.flush().await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn wait_for_end(stream: &mut impl Stream) {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
}

async fn read_request(
    stream: &mut impl Stream,
    port: u16,
    log: &Mutex<Log>,
) -> Option<(i32, Seen)> {
    let length = stream.read_u32().await.ok()?;
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes).await.ok()?;
    let mut body = Bytes::from(bytes);
    let key = ApiKey::try_from(i16::from_be_bytes([body[0], body[1]])).expect("a known key");
    let version = i16::from_be_bytes([body[2], body[3]]);
    let header = RequestHeader::decode(&mut body, key.request_header_version(version));
    let mut log = log.lock().expect("log");
    let versions = log.versions.entry(key as i16).or_default();
    versions.push(version);
    let count = versions.len();
    Some((
        header.expect("a header").correlation_id,
        Seen {
            key,
            version,
            count,
            port,
            body,
        },
    ))
}

fn frame(correlation: i32, body: &[u8]) -> BytesMut {
    let mut frame = BytesMut::new();
    frame.put_u32(u32::try_from(body.len() + 4).expect("small"));
    frame.put_i32(correlation);
    frame.put_slice(body);
    frame
}

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

impl Seen {
    /// The right answer.
    pub fn honest(&self) -> Reaction {
        match self.key {
            ApiKey::ApiVersions => self.api_versions(i16::MAX),
            ApiKey::SaslHandshake => Reaction::Body(Bytes::from_static(&[0, 0, 0, 0, 0, 0])),
            ApiKey::SaslAuthenticate => self.sasl_token("", 0),
            ApiKey::FindCoordinator => self.coordinator(0),
            ApiKey::EndTxn => self.end_txn_echo(),
            ApiKey::DescribeTransactions => self.described(0, "Ongoing"),
            ApiKey::ListTransactions => self.listed(&["gtc.a", "gtc.b", "other"]),
            ApiKey::Metadata => self.metadata(&[self.port]),
            ApiKey::InitProducerId => self.initialised(),
            ApiKey::DescribeConfigs => self.configs(),
            ApiKey::ListOffsets => self.offsets(),
            ApiKey::LeaveGroup => self.body(&LeaveGroupResponse::default()),
            other => panic!("no answer to {other:?}"),
        }
    }

    fn body<R: Encodable>(&self, response: &R) -> Reaction {
        let mut body = BytesMut::new();
        if self.key.response_header_version(self.version) >= 1 {
            body.put_u8(0);
        }
        response.encode(&mut body, self.version).expect("encodes");
        Reaction::Body(body.freeze())
    }

    /// Offers everything, and EndTxn up to a version.
    pub fn api_versions(&self, end_txn_max: i16) -> Reaction {
        let apis = (0..=80).map(|key| {
            let max = if key == EndTxnRequest::KEY as i16 {
                end_txn_max
            } else {
                i16::MAX
            };
            ApiVersion::default()
                .with_api_key(key)
                .with_min_version(0)
                .with_max_version(max)
        });
        self.body(&ApiVersionsResponse::default().with_api_keys(apis.collect()))
    }

    pub fn coordinator(&self, code: i16) -> Reaction {
        let coordinator = Coordinator::default()
            .with_key(text("id"))
            .with_host(text("127.0.0.1"))
            .with_port(self.port.into())
            .with_error_code(code);
        self.body(&FindCoordinatorResponse::default().with_coordinators(vec![coordinator]))
    }

    pub fn end_txn(&self, code: i16) -> Reaction {
        self.body(&EndTxnResponse::default().with_error_code(code))
    }

    /// Success, with the epoch after the request's.
    pub fn end_txn_echo(&self) -> Reaction {
        let request = EndTxnRequest::decode(&mut self.body.clone(), self.version).expect("EndTxn");
        let mut response = EndTxnResponse::default();
        if self.version >= 5 {
            response = response
                .with_producer_id(request.producer_id)
                .with_producer_epoch(request.producer_epoch + 1);
        }
        self.body(&response)
    }

    pub fn described(&self, code: i16, state: &str) -> Reaction {
        let state = describe_transactions_response::TransactionState::default()
            .with_error_code(code)
            .with_transactional_id(text("id").into())
            .with_transaction_state(text(state))
            .with_producer_id(7.into())
            .with_producer_epoch(3)
            .with_transaction_start_time_ms(1000)
            .with_transaction_timeout_ms(60_000);
        self.body(&DescribeTransactionsResponse::default().with_transaction_states(vec![state]))
    }

    pub fn listed(&self, ids: &[&str]) -> Reaction {
        let states = ids.iter().map(|id| {
            list_transactions_response::TransactionState::default()
                .with_transactional_id(text(id).into())
                .with_transaction_state(text("Ongoing"))
        });
        self.body(&ListTransactionsResponse::default().with_transaction_states(states.collect()))
    }

    pub fn metadata(&self, ports: &[u16]) -> Reaction {
        let brokers = ports.iter().zip(1..).map(|(port, id)| {
            MetadataResponseBroker::default()
                .with_node_id(id.into())
                .with_host(text("127.0.0.1"))
                .with_port((*port).into())
        });
        let partition = MetadataResponsePartition::default()
            .with_leader_id(1.into())
            .with_replica_nodes(vec![1.into()]);
        let topic = MetadataResponseTopic::default()
            .with_name(Some(text("topic").into()))
            .with_partitions(vec![partition]);
        let response = MetadataResponse::default()
            .with_cluster_id(Some(text("fake")))
            .with_topics(vec![topic])
            .with_brokers(brokers.collect());
        self.body(&response)
    }

    fn initialised(&self) -> Reaction {
        let response = InitProducerIdResponse::default()
            .with_producer_id(7.into())
            .with_producer_epoch(4);
        self.body(&response)
    }

    fn configs(&self) -> Reaction {
        let config = describe_configs_response::DescribeConfigsResourceResult::default()
            .with_name(text("transaction.max.timeout.ms"))
            .with_value(Some(text("900000")));
        let result =
            describe_configs_response::DescribeConfigsResult::default().with_configs(vec![config]);
        self.body(&DescribeConfigsResponse::default().with_results(vec![result]))
    }

    fn offsets(&self) -> Reaction {
        let partition =
            list_offsets_response::ListOffsetsPartitionResponse::default().with_offset(42);
        let topic = list_offsets_response::ListOffsetsTopicResponse::default()
            .with_name(text("topic").into())
            .with_partitions(vec![partition]);
        self.body(&ListOffsetsResponse::default().with_topics(vec![topic]))
    }

    /// A token of SASL in which every byte 1 stands for the nonce that the client sent.
    pub fn sasl_reply(&self, token: &[u8]) -> Reaction {
        let request = SaslAuthenticateRequest::decode(&mut self.body.clone(), self.version);
        let sent = request
            .map(|request| request.auth_bytes)
            .unwrap_or_default();
        let sent = String::from_utf8_lossy(&sent).into_owned();
        let nonce = sent.split_once("r=").map_or("", |(_, rest)| rest);
        let nonce = nonce.split(',').next().unwrap_or_default();
        let parts: Vec<&[u8]> = token.split(|byte| *byte == 1).collect();
        let response = SaslAuthenticateResponse::default()
            .with_auth_bytes(parts.join(nonce.as_bytes()).into());
        self.body(&response)
    }

    pub fn sasl_token(&self, token: &str, lifetime_ms: i64) -> Reaction {
        let response = SaslAuthenticateResponse::default()
            .with_auth_bytes(Bytes::copy_from_slice(token.as_bytes()))
            .with_session_lifetime_ms(lifetime_ms);
        self.body(&response)
    }

    /// Refuses, and repeats the credentials that it was sent.
    pub fn sasl_refused(&self, words: &str) -> Reaction {
        let response = SaslAuthenticateResponse::default()
            .with_error_code(58)
            .with_error_message(Some(text(&format!("bad password {words}"))));
        self.body(&response)
    }
}
