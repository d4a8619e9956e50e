//! From an address to a connection that is ready for requests: a stream, ApiVersions, SASL.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, SaslAuthenticateRequest, SaslHandshakeRequest,
};
use kafka_protocol::protocol::StrBytes;
use tokio::time::{Instant, timeout_at};

use super::broker::{ApiRanges, Broker};
use super::connection::Connection;
use super::dial::Dialer;
use super::error::Failure;
use super::sasl::Exchange;
use super::wire::{Call, decode_response, encode_request};
use crate::kafka::properties::{ConnectionSettings, Endpoint, SaslSettings};

const UNSUPPORTED_VERSION: i16 = 35;
const SASL_HANDSHAKE_VERSION: i16 = 1;
/// A session that the broker limits is replaced after this share of its lifetime, in percent.
const SESSION_USE_PERCENT: u64 = 80;
/// The most characters of a broker's own words that an error repeats.
const MAX_WORDS: usize = 200;

/// Opens a connection to one broker.
pub(super) async fn connect(
    endpoint: &Endpoint,
    settings: &ConnectionSettings,
    dialer: &Dialer,
    deadline: Instant,
) -> Result<Broker, Failure> {
    let deadline = deadline.min(Instant::now() + settings.connect_timeout);
    let attempt = async {
        let stream = dialer.dial(endpoint, settings.address_family).await?;
        let connection = Connection::start(stream, settings.idle_timeout);
        introduce(connection, settings, deadline).await
    };
    timeout_at(deadline, attempt)
        .await
        .unwrap_or_else(|_| Err(Failure::timeout("the connection took too long")))
        .map_err(|failure| failure.at(endpoint))
}

async fn introduce(
    connection: Connection,
    settings: &ConnectionSettings,
    deadline: Instant,
) -> Result<Broker, Failure> {
    let ranges = api_versions(&connection, &settings.client_id, deadline).await?;
    let mut broker = Broker::new(connection, ranges, &settings.client_id);
    if let Some(sasl) = &settings.sasl {
        let lifetime = authenticate(&broker, sasl, &settings.client_id, deadline).await?;
        broker.expires_at = lifetime.map(|lifetime| Instant::now() + lifetime);
    }
    Ok(broker)
}

/// Asks for the versions that the broker speaks; the only request sent without knowing them.
async fn api_versions(
    connection: &Connection,
    client_id: &str,
    deadline: Instant,
) -> Result<ApiRanges, Failure> {
    let version = ApiVersionsRequest::VERSIONS.max;
    let request = ApiVersionsRequest::default()
        .with_client_software_name(StrBytes::from_static_str("gtc"))
        .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
    let frame = encode_request(ApiKey::ApiVersions, version, client_id, &request)?;
    let answer = connection.exchange(frame, deadline).await.into_result()?;
    // A broker that does not know this version answers in the form of version 0, whose first
    // field, after the correlation id, is the error code.
    if answer.get(4..6) == Some(&UNSUPPORTED_VERSION.to_be_bytes()) {
        return Err(Failure::code(UNSUPPORTED_VERSION));
    }
    let response: ApiVersionsResponse = decode_response(answer, version)?;
    match response.error_code {
        0 => Ok(ApiRanges::new(&response)),
        code => Err(Failure::code(code)),
    }
}

/// Returns for how long the session may be used, if the broker limits it.
async fn authenticate(
    broker: &Broker,
    sasl: &SaslSettings,
    client_id: &str,
    deadline: Instant,
) -> Result<Option<Duration>, Failure> {
    sasl_handshake(broker, sasl.mechanism.name(), client_id, deadline).await?;
    let mut exchange = Exchange::start(sasl)?;
    let mut token = exchange.first()?;
    loop {
        let request = SaslAuthenticateRequest::default().with_auth_bytes(Bytes::from(token));
        let response = broker.call(&request, deadline).await.into_result()?;
        if response.error_code != 0 {
            let words = response
                .error_message
                .map(|text| text.to_string())
                .unwrap_or_default();
            return Err(Failure::code(response.error_code).with_words(&harmless(&words, sasl)));
        }
        match exchange.next(&response.auth_bytes)? {
            Some(next) => token = next,
            None => return Ok(usable_for(response.session_lifetime_ms)),
        }
    }
}

/// The broker's own words, short, and without the password should it repeat it.
fn harmless(words: &str, sasl: &SaslSettings) -> String {
    words
        .replace(sasl.password.reveal(), "(hidden)")
        .chars()
        .take(MAX_WORDS)
        .collect()
}

fn usable_for(session_lifetime_ms: i64) -> Option<Duration> {
    u64::try_from(session_lifetime_ms)
        .ok()
        .filter(|lifetime_ms| *lifetime_ms > 0)
        .map(|lifetime_ms| Duration::from_millis(lifetime_ms / 100 * SESSION_USE_PERCENT))
}

/// Agrees on the mechanism. The answer is read by hand: it has no compact version, and the
/// decoder would reserve whatever its count says.
async fn sasl_handshake(
    broker: &Broker,
    mechanism: &'static str,
    client_id: &str,
    deadline: Instant,
) -> Result<(), Failure> {
    let request =
        SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str(mechanism));
    let frame = encode_request(
        ApiKey::SaslHandshake,
        SASL_HANDSHAKE_VERSION,
        client_id,
        &request,
    )?;
    let answer = broker
        .connection
        .exchange(frame, deadline)
        .await
        .into_result()?;
    match answer
        .get(4..6)
        .and_then(|code| code.try_into().ok())
        .map(i16::from_be_bytes)
    {
        Some(0) => Ok(()),
        Some(code) => {
            Err(Failure::code(code).with_words(&format!("the listener does not offer {mechanism}")))
        }
        None => Err(Failure::protocol(
            "the answer to SaslHandshake is too short",
        )),
    }
}
