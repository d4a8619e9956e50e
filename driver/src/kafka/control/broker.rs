//! One broker that is ready for requests, and the versions it speaks.

use std::collections::HashMap;
use std::sync::Arc;

use kafka_protocol::messages::ApiVersionsResponse;
use tokio::time::Instant;

use super::connection::Connection;
use super::error::{ControlErrorKind, Delivery, Failure};
use super::wire::{Call, Versions, decode_response, encode_request};

/// The versions of each request that a broker speaks.
#[derive(Debug, Default)]
pub(super) struct ApiRanges(HashMap<i16, Versions>);

impl ApiRanges {
    pub(super) fn new(response: &ApiVersionsResponse) -> Self {
        let ranges = response.api_keys.iter().map(|api| {
            (
                api.api_key,
                Versions {
                    min: api.min_version,
                    max: api.max_version,
                },
            )
        });
        Self(ranges.collect())
    }

    fn choose<C: Call>(&self, wanted: Versions) -> Result<i16, Failure> {
        let offered = self.0.get(&(C::KEY as i16)).copied();
        offered
            .and_then(|offered| offered.newest_common(wanted))
            .ok_or_else(|| {
                let offered = offered.map_or_else(
                    || "none".to_owned(),
                    |offered| format!("{} to {}", offered.min, offered.max),
                );
                let message = format!(
                    "{} is needed in a version of {} to {}, and the broker offers {offered}",
                    C::NAME,
                    wanted.min,
                    wanted.max
                );
                Failure::new(ControlErrorKind::Unsupported, message)
            })
    }
}

/// An open connection to one broker.
#[derive(Clone)]
pub(super) struct Broker {
    pub(super) connection: Connection,
    ranges: Arc<ApiRanges>,
    client_id: Arc<str>,
    /// When a new session has to be made (KIP-368); `None` if the broker sets no limit.
    pub(super) expires_at: Option<Instant>,
}

impl Broker {
    pub(super) fn new(connection: Connection, ranges: ApiRanges, client_id: &str) -> Self {
        Self {
            connection,
            ranges: Arc::new(ranges),
            client_id: client_id.into(),
            expires_at: None,
        }
    }

    pub(super) fn is_usable(&self) -> bool {
        self.connection.is_open() && self.expires_at.is_none_or(|at| Instant::now() < at)
    }

    /// Sends a request in the newest version that both sides speak.
    pub(super) async fn call<C: Call>(
        &self,
        request: &C,
        deadline: Instant,
    ) -> Delivery<C::Response> {
        self.call_as(request, C::VERSIONS, deadline).await
    }

    /// Sends a request in the newest version of a range.
    pub(super) async fn call_as<C: Call>(
        &self,
        request: &C,
        versions: Versions,
        deadline: Instant,
    ) -> Delivery<C::Response> {
        let prepared = self.ranges.choose::<C>(versions).and_then(|version| {
            let frame = encode_request(C::KEY, version, &self.client_id, request)?;
            Ok((version, frame))
        });
        let (version, frame) = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => return Delivery::NotSent(failure),
        };
        match self.connection.exchange(frame, deadline).await {
            Delivery::Answered(answer) => match decode_response(answer, version) {
                Ok(response) => Delivery::Answered(response),
                Err(failure) => {
                    self.connection.kill();
                    Delivery::NoAnswer(failure)
                }
            },
            Delivery::NoAnswer(failure) => Delivery::NoAnswer(failure),
            Delivery::NotSent(failure) => Delivery::NotSent(failure),
        }
    }
}
