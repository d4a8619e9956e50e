//! Transactions: end, fence, describe and list them.

use std::fmt;

use gtc_core::{
    BrokerState, EndAnswer, Inquiry, ListedTransaction, Listing, ProducerIdentity,
    TransactionDescription, VersionClass,
};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_transactions_response::TransactionState as Listed;
use kafka_protocol::messages::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, EndTxnRequest,
    InitProducerIdRequest, ListTransactionsRequest, TransactionalId,
};
use kafka_protocol::protocol::StrBytes;
use tokio::task::JoinSet;

use super::client::{ControlClient, Target};
use super::error::{
    ControlError, ControlErrorKind, Delivery, Failure, code_name, is_coordinator_moving,
};
use super::wire::{Call, Versions};
use crate::kafka::properties::Endpoint;

/// EndTxn of a v1 producer. Brokers treat versions 0 to 4 alike as the first class.
const END_TXN_V1: Versions = Versions { min: 3, max: 4 };
/// EndTxn of a v2 producer (KIP-890).
const END_TXN_V2: Versions = Versions { min: 5, max: 5 };
/// What InitProducerId says for "no producer expected".
const NO_PRODUCER: i64 = -1;
const NO_EPOCH: i16 = -1;
/// The most brokers that a listing asks.
const MAX_LISTED_BROKERS: usize = 4096;

/// What became of one attempt to change a transaction.
#[derive(Clone, Debug)]
pub enum Attempt<T> {
    /// The broker answered, with success or with an error code.
    Answered(T),
    /// It was sent, at least in part, and no answer came: it may take effect, now or later.
    NoAnswer(ControlError),
    /// Nothing was sent, and nothing will be.
    NotSent(ControlError),
}

/// The broker's answer to EndTxn or InitProducerId.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTxnAnswer {
    /// The Kafka error code; 0 is success.
    pub code: i16,
    /// The producer id and epoch that follow: of EndTxn in version class v2, and of
    /// InitProducerId.
    pub next: Option<ProducerIdentity>,
}

impl fmt::Display for EndTxnAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&code_name(self.code))
    }
}

impl From<Attempt<EndTxnAnswer>> for EndAnswer {
    fn from(attempt: Attempt<EndTxnAnswer>) -> Self {
        match attempt {
            Attempt::Answered(EndTxnAnswer { code: 0, .. }) => Self::Acknowledged,
            Attempt::Answered(EndTxnAnswer { code, .. }) => Self::Code(code),
            Attempt::NoAnswer(error) => Self::NoAnswer(error.brief()),
            Attempt::NotSent(error) => Self::NotSent(error.brief()),
        }
    }
}

/// Where a transaction stands, and where it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionExtent {
    /// Where it stands.
    pub description: TransactionDescription,
    /// The partitions that it has written to, as `topic-number`. A broker leaves out, without a word,
    /// those of topics that this principal may not describe.
    pub partitions: Vec<String>,
}

impl ControlClient {
    /// Ends the transaction of a producer: EndTxn of its version class, sent at most once.
    ///
    /// Dropping the future withdraws the request if it has not been written; otherwise it may
    /// still take effect, as after [`Attempt::NoAnswer`].
    pub async fn end_transaction(
        &self,
        transactional_id: &str,
        producer: ProducerIdentity,
        version_class: VersionClass,
        commit: bool,
    ) -> Attempt<EndTxnAnswer> {
        let request = EndTxnRequest::default()
            .with_transactional_id(name(transactional_id))
            .with_producer_id(producer.producer_id.into())
            .with_producer_epoch(producer.epoch)
            .with_committed(commit);
        let versions = match version_class {
            VersionClass::V1 => END_TXN_V1,
            VersionClass::V2 => END_TXN_V2,
        };
        let delivery = self.once(transactional_id, &request, versions, |answer| {
            answer.error_code
        });
        self.attempt("end a transaction", delivery.await, |answer| EndTxnAnswer {
            code: answer.error_code,
            next: (version_class == VersionClass::V2 && answer.error_code == 0)
                .then(|| identity(answer.producer_id.0, answer.producer_epoch)),
        })
    }

    /// Initialises a transactional.id: aborts what is open under it and fences its producer.
    /// InitProducerId, sent at most once; a late one is never safe (R6).
    pub async fn init_producer_id(
        &self,
        transactional_id: &str,
        timeout_ms: i32,
    ) -> Attempt<EndTxnAnswer> {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(name(transactional_id)))
            .with_transaction_timeout_ms(timeout_ms)
            .with_producer_id(NO_PRODUCER.into())
            .with_producer_epoch(NO_EPOCH);
        let versions = InitProducerIdRequest::VERSIONS;
        let delivery = self.once(transactional_id, &request, versions, |answer| {
            answer.error_code
        });
        self.attempt("initialise a producer id", delivery.await, |answer| {
            EndTxnAnswer {
                code: answer.error_code,
                next: (answer.error_code == 0)
                    .then(|| identity(answer.producer_id.0, answer.producer_epoch)),
            }
        })
    }

    fn attempt<R, T>(
        &self,
        operation: &'static str,
        delivery: Delivery<R>,
        read: impl Fn(R) -> T,
    ) -> Attempt<T> {
        match delivery {
            Delivery::Answered(answer) => Attempt::Answered(read(answer)),
            Delivery::NoAnswer(failure) => Attempt::NoAnswer(self.error(operation, failure)),
            Delivery::NotSent(failure) => Attempt::NotSent(self.error(operation, failure)),
        }
    }

    /// What the broker transaction coordinator knows of an id; `None` if it knows none such.
    ///
    /// # Errors
    /// No answer in time, or an error code other than TRANSACTIONAL_ID_NOT_FOUND.
    pub async fn describe_transaction(
        &self,
        transactional_id: &str,
    ) -> Result<Option<TransactionDescription>, ControlError> {
        let request = DescribeTransactionsRequest::default()
            .with_transactional_ids(vec![name(transactional_id)]);
        let target = Target::Coordinator(transactional_id);
        self.read(target, &request, self.deadline(), |answer| {
            described(answer, transactional_id)
        })
        .await
        .map_err(|failure| self.error("describe a transaction", failure))
    }

    /// As [`describe_transaction`](Self::describe_transaction), with the partitions that it holds back.
    ///
    /// # Errors
    /// No answer in time, or an error code other than TRANSACTIONAL_ID_NOT_FOUND.
    pub async fn describe_extent(
        &self,
        transactional_id: &str,
    ) -> Result<Option<TransactionExtent>, ControlError> {
        let request = DescribeTransactionsRequest::default()
            .with_transactional_ids(vec![name(transactional_id)]);
        let target = Target::Coordinator(transactional_id);
        self.read(target, &request, self.deadline(), |answer| {
            extent(answer, transactional_id)
        })
        .await
        .map_err(|failure| self.error("describe a transaction", failure))
    }

    /// What the broker knows of a transactional.id, in the words of the core.
    pub async fn inquire(&self, transactional_id: &str) -> Inquiry {
        let (inquiry, _) = self.inquire_extent(transactional_id).await;
        inquiry
    }

    /// [`describe_extent`](Self::describe_extent) in the words of the core, and the partitions.
    pub async fn inquire_extent(&self, transactional_id: &str) -> (Inquiry, Vec<String>) {
        match self.describe_extent(transactional_id).await {
            Ok(Some(extent)) => (Inquiry::Described(extent.description), extent.partitions),
            Ok(None) => (Inquiry::NotFound, Vec::new()),
            Err(error) => match error.code() {
                Some(code) if !error.is_transient() => (Inquiry::Refused(code), Vec::new()),
                _ => (Inquiry::NoAnswer(error.brief()), Vec::new()),
            },
        }
    }

    /// All transactional.ids that begin with `prefix`, in every state, asked of every broker.
    ///
    /// A broker says nothing of ids that this principal may not describe, so that a complete
    /// listing alone proves nothing of the absence of an id: see
    /// [`list_proved`](Self::list_proved).
    pub async fn list_transactions(&self, prefix: &str) -> Listing {
        self.list(prefix, Proof::Unasked).await
    }

    /// As [`list_transactions`](Self::list_transactions), and complete only if each broker lets
    /// ids of that prefix be described, before its listing and after it.
    ///
    /// Brokers learn of rights one by one: what one of them shows says nothing of the others, and
    /// a right may come or go meanwhile.
    pub async fn list_proved(&self, prefix: &str) -> Listing {
        self.list(prefix, Proof::Asked).await
    }

    async fn list(&self, prefix: &str, proof: Proof) -> Listing {
        let nodes = match self.cluster().await {
            Ok(cluster) => cluster.brokers,
            Err(error) => return incomplete(&error.brief()),
        };
        if nodes.len() > MAX_LISTED_BROKERS {
            return incomplete("the cluster names more brokers than can be asked");
        }
        let mut asked = JoinSet::new();
        for node in nodes {
            let (client, prefix) = (self.clone(), prefix.to_owned());
            asked.spawn(async move {
                let endpoint = node.endpoint();
                let listed = client.list_by(&endpoint, &prefix, proof).await;
                listed.map_err(|failure| client.error("list transactions", failure.at(&endpoint)))
            });
        }
        let mut listing = Listing {
            complete: true,
            ..Listing::default()
        };
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(mut transactions)) => listing.transactions.append(&mut transactions),
                Ok(Err(error)) => note(&mut listing, error.brief()),
                Err(error) => note(&mut listing, error.to_string()),
            }
        }
        listing
            .transactions
            .sort_by(|a, b| a.transactional_id.cmp(&b.transactional_id));
        listing
    }

    async fn list_by(
        &self,
        endpoint: &Endpoint,
        prefix: &str,
        proof: Proof,
    ) -> Result<Vec<ListedTransaction>, Failure> {
        if proof == Proof::Unasked {
            return self.list_of(endpoint, prefix).await;
        }
        self.may_describe(endpoint, prefix).await?;
        let listed = self.list_of(endpoint, prefix).await?;
        self.may_describe(endpoint, prefix).await?;
        Ok(listed)
    }

    /// Whether this very broker lets ids of a prefix be described. It looks at the rights first, so
    /// that every other answer about the prefix itself, which is the name of nothing, is a yes.
    async fn may_describe(&self, endpoint: &Endpoint, prefix: &str) -> Result<(), Failure> {
        let request =
            DescribeTransactionsRequest::default().with_transactional_ids(vec![name(prefix)]);
        let (target, deadline) = (Target::Broker(endpoint), self.deadline());
        self.read(target, &request, deadline, |answer| {
            let code = answer.transaction_states.first().map(|it| it.error_code);
            match code {
                Some(0) => Ok(()),
                Some(code) if code == ResponseError::TransactionalIdNotFound.code() => Ok(()),
                Some(code) if is_coordinator_moving(code) => Ok(()),
                Some(code) => Err(Failure::code(code).with_words(&format!(
                    "it may hide transactional ids with the prefix {prefix}, of which Describe is to be \
                     granted; it can take a moment until each broker knows"
                ))),
                None => Err(Failure::protocol("the answer describes nothing")),
            }
        })
        .await
    }

    async fn list_of(
        &self,
        endpoint: &Endpoint,
        prefix: &str,
    ) -> Result<Vec<ListedTransaction>, Failure> {
        let request = ListTransactionsRequest::default();
        self.read(
            Target::Broker(endpoint),
            &request,
            self.deadline(),
            |answer| {
                if answer.error_code != 0 {
                    return Err(Failure::code(answer.error_code));
                }
                let matching = answer
                    .transaction_states
                    .iter()
                    .filter(|transaction| transaction.transactional_id.starts_with(prefix));
                matching.map(listed).collect()
            },
        )
        .await
    }
}

/// Whether a listing has to prove that nothing is hidden from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    Asked,
    Unasked,
}

fn name(transactional_id: &str) -> TransactionalId {
    StrBytes::from_string(transactional_id.to_owned()).into()
}

fn identity(producer_id: i64, epoch: i16) -> ProducerIdentity {
    ProducerIdentity { producer_id, epoch }
}

fn described(
    answer: DescribeTransactionsResponse,
    transactional_id: &str,
) -> Result<Option<TransactionDescription>, Failure> {
    let state = answer
        .transaction_states
        .into_iter()
        .find(|state| **state.transactional_id == *transactional_id)
        .ok_or_else(|| Failure::protocol("the answer describes another transactional.id"))?;
    match state.error_code {
        0 => Ok(Some(TransactionDescription {
            state: broker_state(&state.transaction_state)?,
            producer: identity(state.producer_id.0, state.producer_epoch),
            start_time_ms: state.transaction_start_time_ms,
            timeout_ms: state.transaction_timeout_ms,
        })),
        code if code == ResponseError::TransactionalIdNotFound.code() => Ok(None),
        code => Err(Failure::code(code)),
    }
}

fn extent(
    answer: DescribeTransactionsResponse,
    transactional_id: &str,
) -> Result<Option<TransactionExtent>, Failure> {
    let topics = answer
        .transaction_states
        .iter()
        .filter(|state| **state.transactional_id == *transactional_id)
        .flat_map(|state| &state.topics);
    let partitions = topics.flat_map(|topic| {
        let numbers = topic.partitions.iter();
        numbers.map(|number| format!("{}-{number}", topic.topic.as_str()))
    });
    let partitions = partitions.collect();
    let described = described(answer, transactional_id)?;
    Ok(described.map(|description| TransactionExtent {
        description,
        partitions,
    }))
}

fn listed(transaction: &Listed) -> Result<ListedTransaction, Failure> {
    Ok(ListedTransaction {
        transactional_id: transaction.transactional_id.as_str().into(),
        producer_id: transaction.producer_id.0,
        state: broker_state(&transaction.transaction_state)?,
    })
}

/// Reads the state's name. One that is not known is an error and never taken for another.
fn broker_state(name: &str) -> Result<BrokerState, Failure> {
    Ok(match name {
        "Empty" => BrokerState::Empty,
        "Ongoing" => BrokerState::Ongoing,
        "PrepareCommit" => BrokerState::PrepareCommit,
        "PrepareAbort" => BrokerState::PrepareAbort,
        "CompleteCommit" => BrokerState::CompleteCommit,
        "CompleteAbort" => BrokerState::CompleteAbort,
        "Dead" => BrokerState::Dead,
        "PrepareEpochFence" => BrokerState::PrepareEpochFence,
        _ => {
            let known: String = name.chars().take(40).collect();
            let message = format!("the broker names an unknown transaction state, `{known}`");
            return Err(Failure::new(ControlErrorKind::Protocol, message));
        }
    })
}

fn incomplete(detail: &str) -> Listing {
    Listing {
        detail: Some(detail.to_owned()),
        ..Listing::default()
    }
}

fn note(listing: &mut Listing, detail: String) {
    listing.complete = false;
    listing.detail.get_or_insert(detail);
}
