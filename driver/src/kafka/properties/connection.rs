//! How the control plane reaches the brokers: the properties of the connection, typed.

use std::fmt;
use std::time::Duration;

use super::{Check, PropertyError};

/// The port that librdkafka takes where a server names none.
const DEFAULT_PORT: u16 = 9092;
/// Shorter than librdkafka's 60 s: a control request that hangs delays the end of a transaction.
const DEFAULT_REQUEST_TIMEOUT_MS: u64 = 10_000;
const DEFAULT_CONNECT_TIMEOUT_MS: u64 = 10_000;
const DEFAULT_BACKOFF_MS: u64 = 100;
const DEFAULT_BACKOFF_MAX_MS: u64 = 10_000;
/// Below the ten minutes after which a broker closes an idle connection, so that a request is not
/// sent into a connection which the broker is just closing.
const DEFAULT_IDLE_MS: u64 = 540_000;

const MECHANISM_REMEDY: &str = "use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512";

/// The connection part of a participant's properties.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSettings {
    pub(crate) client_id: String,
    pub(crate) bootstrap: Vec<Endpoint>,
    pub(crate) tls: Option<TlsSettings>,
    pub(crate) sasl: Option<SaslSettings>,
    pub(crate) address_family: AddressFamily,
    pub(crate) request_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) backoff: Duration,
    pub(crate) backoff_max: Duration,
    /// `None` keeps idle connections open.
    pub(crate) idle_timeout: Option<Duration>,
}

/// One broker's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(out, "[{}]:{}", self.host, self.port)
        } else {
            write!(out, "{}:{}", self.host, self.port)
        }
    }
}

/// Which addresses of a host are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressFamily {
    Any,
    V4,
    V6,
}

/// A text that no output shows.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(hidden)")
    }
}

/// Where PEM text comes from.
#[derive(Clone, Debug)]
pub(crate) enum PemSource {
    /// A file, or for authorities also a directory; and how an error may show it.
    Path {
        /// The path itself.
        path: String,
        /// The path as it was written.
        shown: String,
    },
    /// The text itself, hidden because it may be a key.
    Text(Secret),
}

impl PemSource {
    /// The last part of the property that it was given in.
    pub(crate) fn form(&self) -> &'static str {
        match self {
            Self::Path { .. } => "location",
            Self::Text(_) => "pem",
        }
    }
}

/// TLS of one participant.
#[derive(Clone, Debug)]
pub(crate) struct TlsSettings {
    /// `None` takes the authorities that the system trusts.
    pub(crate) authorities: Option<PemSource>,
    /// Certificate chain and key of this client, for mutual TLS.
    pub(crate) identity: Option<(PemSource, PemSource)>,
    pub(crate) verify_certificate: bool,
    pub(crate) verify_name: bool,
}

/// The mechanisms that both planes speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaslMechanism {
    Plain,
    ScramSha256,
    ScramSha512,
}

impl SaslMechanism {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// SASL of one participant.
#[derive(Clone, Debug)]
pub(crate) struct SaslSettings {
    pub(crate) mechanism: SaslMechanism,
    pub(crate) username: String,
    pub(crate) password: Secret,
}

impl ConnectionSettings {
    pub(super) fn read(check: &Check<'_>) -> Result<Self, PropertyError> {
        let protocol = protocol(check);
        dns_lookup(check)?;
        Ok(Self {
            client_id: check.get("client.id").unwrap_or("gtc").to_owned(),
            bootstrap: bootstrap(check, &protocol)?,
            tls: protocol.ends_with("ssl").then(|| tls(check)).transpose()?,
            sasl: protocol
                .starts_with("sasl")
                .then(|| sasl(check))
                .transpose()?,
            address_family: address_family(check),
            request_timeout: millis(check, "socket.timeout.ms", DEFAULT_REQUEST_TIMEOUT_MS)?,
            connect_timeout: millis(
                check,
                "socket.connection.setup.timeout.ms",
                DEFAULT_CONNECT_TIMEOUT_MS,
            )?,
            backoff: millis(check, "reconnect.backoff.ms", DEFAULT_BACKOFF_MS)?,
            backoff_max: millis(check, "reconnect.backoff.max.ms", DEFAULT_BACKOFF_MAX_MS)?,
            idle_timeout: Some(millis(check, "connections.max.idle.ms", DEFAULT_IDLE_MS)?)
                .filter(|idle| !idle.is_zero()),
        })
    }
}

/// The security protocol in lower case. librdkafka has already refused what is none.
fn protocol(check: &Check<'_>) -> String {
    check
        .get("security.protocol")
        .unwrap_or("plaintext")
        .to_ascii_lowercase()
}

fn millis(check: &Check<'_>, name: &str, default_ms: u64) -> Result<Duration, PropertyError> {
    let text = check
        .get(name)
        .map_or_else(|| default_ms.to_string(), str::to_owned);
    text.trim()
        .parse()
        .map(Duration::from_millis)
        .map_err(|_| check.error(name, "not a number of milliseconds", "write digits only"))
}

fn boolean(check: &Check<'_>, name: &str, default: bool) -> bool {
    let truths = ["true", "t", "1"];
    check.get(name).map_or(default, |text| {
        truths.iter().any(|truth| text.eq_ignore_ascii_case(truth))
    })
}

fn address_family(check: &Check<'_>) -> AddressFamily {
    match check
        .get("broker.address.family")
        .unwrap_or("any")
        .to_ascii_lowercase()
        .as_str()
    {
        "v4" => AddressFamily::V4,
        "v6" => AddressFamily::V6,
        _ => AddressFamily::Any,
    }
}

fn dns_lookup(check: &Check<'_>) -> Result<(), PropertyError> {
    let name = "client.dns.lookup";
    match check.get(name) {
        Some(value) if !value.eq_ignore_ascii_case("use_all_dns_ips") => Err(check.error(
            name,
            "the control plane tries all addresses of a host and knows no other look-up",
            "remove it or write use_all_dns_ips",
        )),
        _ => Ok(()),
    }
}

fn bootstrap(check: &Check<'_>, protocol: &str) -> Result<Vec<Endpoint>, PropertyError> {
    let name = "bootstrap.servers";
    let text = check.get(name).unwrap_or_default();
    let endpoints = text
        .split(',')
        .map(str::trim)
        .filter(|server| !server.is_empty())
        .map(|server| {
            endpoint(server, protocol).ok_or_else(|| {
                // What stands before an `@` may be a password.
                let problem = match check.is_secret(name) || server.contains('@') {
                    true => "one of them is no address of a broker".to_owned(),
                    false => format!("`{server}` is no address of a broker"),
                };
                check.error(
                    name,
                    problem,
                    "write host:port, several separated by commas",
                )
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if endpoints.is_empty() {
        return Err(check.error(
            name,
            "no broker is named",
            "set it to host:port of at least one broker of the cluster",
        ));
    }
    Ok(endpoints)
}

/// Reads `[protocol://]host[:port]`, where an IPv6 address stands in brackets.
fn endpoint(server: &str, protocol: &str) -> Option<Endpoint> {
    let address = match server.split_once("://") {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case(protocol) => rest,
        Some(_) => return None,
        None => server,
    };
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (
                host,
                if after.is_empty() {
                    None
                } else {
                    Some(after.strip_prefix(':')?)
                },
            )
        }
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let port = port
        .map_or(Ok(DEFAULT_PORT), str::parse)
        .ok()
        .filter(|port| *port != 0)?;
    let named = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '@');
    named.then(|| Endpoint {
        host: host.to_owned(),
        port,
    })
}

fn sasl(check: &Check<'_>) -> Result<SaslSettings, PropertyError> {
    let mechanism = mechanism(check)?;
    Ok(SaslSettings {
        mechanism,
        username: required(check, "sasl.username", mechanism)?.to_owned(),
        password: Secret::new(required(check, "sasl.password", mechanism)?),
    })
}

fn required<'a>(
    check: &'a Check<'_>,
    name: &str,
    mechanism: SaslMechanism,
) -> Result<&'a str, PropertyError> {
    check
        .get(name)
        .filter(|value| !value.is_empty())
        .ok_or_else(|| {
            let problem = format!("missing, and SASL {} needs it", mechanism.name());
            check.error(name, problem, "set it, or another security.protocol")
        })
}

fn mechanism(check: &Check<'_>) -> Result<SaslMechanism, PropertyError> {
    let (alias, name) = ("sasl.mechanism", "sasl.mechanisms");
    let text = match (check.get(alias), check.get(name)) {
        (Some(one), Some(other)) if !one.eq_ignore_ascii_case(other) => {
            return Err(check.error(alias, "sasl.mechanisms says another", "remove one of them"));
        }
        (Some(text), _) | (None, Some(text)) => text,
        // librdkafka would take GSSAPI, which the control plane does not speak.
        (None, None) => return Err(check.error(alias, "missing", MECHANISM_REMEDY)),
    };
    match text.to_ascii_uppercase().as_str() {
        "PLAIN" => Ok(SaslMechanism::Plain),
        "SCRAM-SHA-256" => Ok(SaslMechanism::ScramSha256),
        "SCRAM-SHA-512" => Ok(SaslMechanism::ScramSha512),
        "OAUTHBEARER" | "GSSAPI" => {
            let problem = format!("{text} is not supported by the control plane yet");
            Err(check.error(alias, problem, MECHANISM_REMEDY))
        }
        _ => Err(check.error(
            alias,
            "no mechanism that both planes speak",
            MECHANISM_REMEDY,
        )),
    }
}

fn tls(check: &Check<'_>) -> Result<TlsSettings, PropertyError> {
    let algorithm = check
        .get("ssl.endpoint.identification.algorithm")
        .unwrap_or("https");
    Ok(TlsSettings {
        authorities: pem(check, "ssl.ca")?.filter(|source| !is_probe(source)),
        identity: identity(check)?,
        verify_certificate: boolean(check, "enable.ssl.certificate.verification", true),
        verify_name: !algorithm.eq_ignore_ascii_case("none"),
    })
}

/// `probe` is librdkafka's word for the authorities of the system.
fn is_probe(source: &PemSource) -> bool {
    matches!(source, PemSource::Path { path, .. } if path == "probe")
}

fn identity(check: &Check<'_>) -> Result<Option<(PemSource, PemSource)>, PropertyError> {
    match (pem(check, "ssl.certificate")?, pem(check, "ssl.key")?) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(given), None) => Err(missing_beside(check, given.form(), ("certificate", "key"))),
        (None, Some(given)) => Err(missing_beside(check, given.form(), ("key", "certificate"))),
    }
}

/// What is missing is asked for in the form in which the other was given.
fn missing_beside(check: &Check<'_>, form: &str, (given, missing): (&str, &str)) -> PropertyError {
    let remedy = match form {
        "pem" => format!("set it to the PEM text of the {given}'s {missing}"),
        _ => format!("set it to the PEM file of the {given}'s {missing}"),
    };
    check.error(
        &format!("ssl.{missing}.{form}"),
        format!("missing beside `ssl.{given}.{form}`"),
        &remedy,
    )
}

/// Reads `prefix.pem` or `prefix.location`. librdkafka would add the one to the other.
fn pem(check: &Check<'_>, prefix: &str) -> Result<Option<PemSource>, PropertyError> {
    let (text, location) = (format!("{prefix}.pem"), format!("{prefix}.location"));
    match (check.get(&text), check.get(&location)) {
        (Some(_), Some(_)) => Err(check.error(
            &text,
            format!("{location} is set too"),
            "remove one of them",
        )),
        (Some(text), None) => Ok(Some(PemSource::Text(Secret::new(text)))),
        (None, Some(path)) => Ok(Some(PemSource::Path {
            path: path.to_owned(),
            shown: check.shown(&location, path).to_owned(),
        })),
        (None, None) => Ok(None),
    }
}
