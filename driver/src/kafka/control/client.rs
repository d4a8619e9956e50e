//! The client of one participant, and the two ways it sends: once, or until it is answered.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::messages::FindCoordinatorRequest;
use kafka_protocol::protocol::StrBytes;
use tokio::time::{Instant, sleep};

use super::broker::Broker;
use super::coordinators::Coordinators;
use super::dial::Dialer;
use super::error::{ControlError, Delivery, Failure, is_coordinator_moving};
use super::pool::Pool;
use super::tls;
use super::wire::{Call, Versions};
use crate::kafka::properties::{Endpoint, Properties};

/// FindCoordinator's numbers for a consumer group and for a transactional.id.
const KEY_TYPE_GROUP: i8 = 0;
const KEY_TYPE_TRANSACTION: i8 = 1;
/// The pause before a read is repeated, and how far it grows.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(1);

/// A client of the control plane of one participant. Clones share their connections.
#[derive(Clone)]
pub struct ControlClient {
    inner: Arc<Inner>,
}

struct Inner {
    participant: String,
    pool: Pool,
    coordinators: Coordinators,
}

/// Which broker a request is for.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Any,
    Broker(&'a Endpoint),
    /// The broker transaction coordinator of a transactional.id.
    Coordinator(&'a str),
    /// The coordinator of a consumer group; found anew each time.
    Group(&'a str),
}

impl ControlClient {
    /// Makes a client. Certificates are read here; brokers are connected to when they are needed.
    ///
    /// # Errors
    /// [`ControlErrorKind::Config`](super::ControlErrorKind::Config) if a certificate or key
    /// cannot be used.
    pub fn open(properties: &Properties) -> Result<Self, ControlError> {
        let tls = properties
            .connection()
            .tls
            .as_ref()
            .map(tls::connector)
            .transpose()
            .map_err(|failure| ControlError::new(properties.participant(), "open", failure))?;
        Ok(Self::over(properties, Dialer::Network(tls)))
    }

    /// Makes a client whose streams come from this dialer.
    pub(super) fn over(properties: &Properties, dialer: Dialer) -> Self {
        let inner = Inner {
            participant: properties.participant().to_owned(),
            pool: Pool::new(properties.connection().clone(), dialer),
            coordinators: Coordinators::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The participant that this client talks to.
    #[must_use]
    pub fn participant(&self) -> &str {
        &self.inner.participant
    }

    pub(super) fn error(&self, operation: &'static str, failure: Failure) -> ControlError {
        ControlError::new(&self.inner.participant, operation, failure)
    }

    /// The instant by which a call that begins now has to end.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.inner.pool.settings().request_timeout
    }

    /// Sends a request that changes nothing until a broker has answered it, or `deadline` passes.
    ///
    /// `judge` says what the answer means; a transient failure in it is tried again.
    pub(super) async fn read<C: Call, T>(
        &self,
        target: Target<'_>,
        request: &C,
        deadline: Instant,
        judge: impl Fn(C::Response) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut pause = RETRY_PAUSE;
        loop {
            let failure = match self
                .read_once(target, request, deadline)
                .await
                .and_then(&judge)
            {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if let Target::Coordinator(id) = target
                && failure.is_transient()
            {
                self.inner.coordinators.forget(id);
            }
            if !failure.is_transient() || Instant::now() + pause >= deadline {
                return Err(failure);
            }
            sleep(pause).await;
            pause = (pause * 2).min(RETRY_PAUSE_MAX);
        }
    }

    async fn read_once<C: Call>(
        &self,
        target: Target<'_>,
        request: &C,
        deadline: Instant,
    ) -> Result<C::Response, Failure> {
        let attempt_deadline = match target {
            Target::Any => half_way(deadline),
            Target::Broker(_) | Target::Coordinator(_) | Target::Group(_) => deadline,
        };
        let broker = self.broker(target, attempt_deadline).await?;
        broker.call(request, attempt_deadline).await.into_result()
    }

    /// Sends a request that changes a transaction: once, or not at all.
    ///
    /// Finding the coordinator and connecting are repeated until the time-out, since nothing is
    /// sent by them; once a byte of the request may be out, whatever happens is the outcome.
    pub(super) async fn once<C: Call>(
        &self,
        transactional_id: &str,
        request: &C,
        versions: Versions,
        code: impl Fn(&C::Response) -> i16,
    ) -> Delivery<C::Response> {
        let deadline = self.deadline();
        let mut pause = RETRY_PAUSE;
        loop {
            let target = Target::Coordinator(transactional_id);
            let delivery = match self.broker(target, deadline).await {
                Ok(broker) => broker.call_as(request, versions, deadline).await,
                Err(failure) => Delivery::NotSent(failure),
            };
            let moved = match &delivery {
                Delivery::Answered(answer) => is_coordinator_moving(code(answer)),
                Delivery::NoAnswer(_) | Delivery::NotSent(_) => true,
            };
            if moved {
                self.inner.coordinators.forget(transactional_id);
            }
            match delivery {
                Delivery::NotSent(failure)
                    if failure.is_transient() && Instant::now() + pause < deadline =>
                {
                    sleep(pause).await;
                    pause = (pause * 2).min(RETRY_PAUSE_MAX);
                }
                settled => return settled,
            }
        }
    }

    async fn broker(&self, target: Target<'_>, deadline: Instant) -> Result<Broker, Failure> {
        match target {
            Target::Any => self.inner.pool.any_broker(deadline).await,
            Target::Broker(endpoint) => self.inner.pool.broker(endpoint, deadline).await,
            Target::Coordinator(id) => {
                let endpoint = self.coordinator(id, deadline).await?;
                self.inner.pool.broker(&endpoint, deadline).await
            }
            Target::Group(id) => {
                let endpoint = self.find(KEY_TYPE_GROUP, id, deadline).await?;
                self.inner.pool.broker(&endpoint, deadline).await
            }
        }
    }

    async fn coordinator(&self, id: &str, deadline: Instant) -> Result<Endpoint, Failure> {
        if let Some(endpoint) = self.inner.coordinators.get(id) {
            return Ok(endpoint);
        }
        let endpoint = self.find(KEY_TYPE_TRANSACTION, id, deadline).await?;
        self.inner.coordinators.remember(id, endpoint.clone());
        Ok(endpoint)
    }

    /// Asks a broker for the coordinator of `id`.
    async fn find(&self, key_type: i8, id: &str, deadline: Instant) -> Result<Endpoint, Failure> {
        let request = FindCoordinatorRequest::default()
            .with_key_type(key_type)
            .with_coordinator_keys(vec![StrBytes::from_string(id.to_owned())]);
        // Not `read`, which would call this function again: the loops above repeat it.
        let deadline = half_way(deadline);
        let broker = self.inner.pool.any_broker(deadline).await?;
        let response = broker.call(&request, deadline).await.into_result()?;
        let found = response.coordinators.first().ok_or_else(|| {
            Failure::protocol("FindCoordinator was answered without a coordinator")
        })?;
        if found.error_code != 0 {
            return Err(Failure::code(found.error_code));
        }
        let port = u16::try_from(found.port)
            .map_err(|_| Failure::protocol("the coordinator's port is none"))?;
        Ok(Endpoint {
            host: found.host.to_string(),
            port,
        })
    }
}

/// Half of what is left: a broker that hangs leaves time to ask another one.
fn half_way(deadline: Instant) -> Instant {
    let now = Instant::now();
    now + deadline.saturating_duration_since(now) / 2
}

impl fmt::Debug for ControlClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ControlClient")
            .field("participant", &self.inner.participant)
            .field("settings", self.inner.pool.settings())
            .finish_non_exhaustive()
    }
}
