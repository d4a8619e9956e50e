//! Which property belongs to whom.

/// What gtc does with a property of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Both planes understand it, or it concerns the data plane alone.
    Allowed,
    /// gtc needs a value of its own; the text says where the user's wish goes instead.
    Owned(&'static str),
    /// The control plane could not follow; the text says what to use instead.
    OnePlane(&'static str),
}

const DURABLE_WRITES: &str = "remove it: a transaction needs the value that gtc sets";
const OFFSETS_IN_TRANSACTION: &str =
    "remove it: offsets move inside the global transaction or not at all";
const CONSUMER_GROUP: &str =
    "remove it: give the group's name to the consumer, a producer has none";
const PEM_FILES: &str = "use ssl.certificate.location and ssl.key.location with PEM files";
const RUSTLS_DEFAULTS: &str =
    "remove it: both planes then negotiate TLS 1.2 or 1.3 with their safe defaults";
const OTHER_MECHANISM: &str =
    "use sasl.mechanism PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or a client certificate";

/// The class of a property. Names that librdkafka does not know are `Allowed` here, and are
/// refused by librdkafka itself.
pub(super) fn class(name: &str) -> Class {
    if let Some(remedy) = owned(name) {
        return Class::Owned(remedy);
    }
    match name {
        _ if UNDERSTOOD.contains(&name) => Class::Allowed,
        "metadata.broker.list" => Class::OnePlane("use bootstrap.servers"),
        "ssl.keystore.location" | "ssl.keystore.password" => Class::OnePlane(PEM_FILES),
        "ssl.crl.location" => Class::OnePlane("remove it: revocation lists are not supported yet"),
        "ssl.ca.certificate.stores" => Class::OnePlane("use ssl.ca.location with a PEM file"),
        "test.mock.num.brokers" => Class::OnePlane("use a real cluster"),
        _ if is_unsupported_mechanism(name) => Class::OnePlane(OTHER_MECHANISM),
        // Anything else about security would be honoured by one plane only, also where a later
        // librdkafka adds a name that this table has not heard of.
        _ if name.starts_with("ssl") || name.starts_with("enable.ssl") => {
            Class::OnePlane(RUSTLS_DEFAULTS)
        }
        _ => Class::Allowed,
    }
}

/// What gtc sets itself, and what to do about it. The documentation says the same.
pub(super) const OWNED: &[(&str, &str)] = &[
    (
        "transactional.id",
        "remove it: gtc names the slots of its producers itself",
    ),
    (
        "transaction.timeout.ms",
        "set transaction_timeout_ms of the participant instead",
    ),
    ("enable.idempotence", DURABLE_WRITES),
    ("acks", DURABLE_WRITES),
    ("request.required.acks", DURABLE_WRITES),
    ("max.in.flight", DURABLE_WRITES),
    ("max.in.flight.requests.per.connection", DURABLE_WRITES),
    (
        "isolation.level",
        "remove it: gtc always reads read_committed",
    ),
    ("enable.auto.commit", OFFSETS_IN_TRANSACTION),
    ("auto.commit.enable", OFFSETS_IN_TRANSACTION),
    ("enable.auto.offset.store", OFFSETS_IN_TRANSACTION),
    ("auto.commit.interval.ms", OFFSETS_IN_TRANSACTION),
    ("group.id", CONSUMER_GROUP),
    ("group.instance.id", CONSUMER_GROUP),
    (
        "statistics.interval.ms",
        "remove it: gtc reads librdkafka's statistics to know when a slot is clean",
    ),
    (
        "delivery.report.only.error",
        "remove it: gtc counts every delivery before it votes yes",
    ),
];

fn owned(name: &str) -> Option<&'static str> {
    let found = OWNED.iter().find(|(known, _)| *known == name);
    found.map(|(_, remedy)| *remedy)
}

fn is_unsupported_mechanism(name: &str) -> bool {
    let prefixes = ["sasl.", "enable.sasl.", "https.", "oauthbearer"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a value must never be shown. Wider than needed: a new secret of librdkafka's is hidden
/// before this table learns its name.
pub(super) fn is_secret(name: &str) -> bool {
    let marks = [
        "password",
        "secret",
        "passphrase",
        "key.pem",
        "ssl_key",
        "private",
        "oauthbearer",
    ];
    marks.iter().any(|mark| name.contains(mark))
}

/// The known name most like `name`, if it is similar enough.
pub(super) fn nearest(name: &str, threshold: f64) -> Option<&'static str> {
    UNDERSTOOD
        .iter()
        .chain(DATA_PLANE)
        .map(|known| (strsim::jaro_winkler(name, known), *known))
        .filter(|(similarity, _)| *similarity >= threshold)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, known)| known)
}

/// Connection and security properties that the control plane reads, or may safely ignore.
pub(super) const UNDERSTOOD: &[&str] = &[
    "bootstrap.servers",
    "broker.address.family",
    "client.dns.lookup",
    "client.id",
    "connections.max.idle.ms",
    "enable.ssl.certificate.verification",
    "metadata.max.age.ms",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "socket.connection.setup.timeout.ms",
    "socket.timeout.ms",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
];

/// Properties of the data plane alone, for the nearest known name.
pub(super) const DATA_PLANE: &[&str] = &[
    "allow.auto.create.topics",
    "auto.offset.reset",
    "batch.num.messages",
    "batch.size",
    "broker.address.ttl",
    "check.crcs",
    "client.rack",
    "compression.codec",
    "compression.level",
    "compression.type",
    "debug",
    "delivery.timeout.ms",
    "enable.gapless.guarantee",
    "enable.metrics.push",
    "enable.partition.eof",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "heartbeat.interval.ms",
    "linger.ms",
    "log_level",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "message.copy.max.bytes",
    "message.max.bytes",
    "message.send.max.retries",
    "message.timeout.ms",
    "metadata.recovery.strategy",
    "partition.assignment.strategy",
    "partitioner",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "receive.message.max.bytes",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "session.timeout.ms",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "sticky.partitioning.linger.ms",
    "topic.blacklist",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
];
