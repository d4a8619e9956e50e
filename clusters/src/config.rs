//! The broker's `server.properties`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::error::Result;
use crate::keys::Keys;
use crate::options::{ClusterOptions, Security};
use crate::ports::Port;

/// The principal that stands for the application and has no more rights than it was given.
pub(crate) const USER: &str = "gtc";
/// Its password, of use on this machine's loopback only.
pub(crate) const USER_PASSWORD: &str = "gtc-test-password";
/// The super user.
pub(crate) const ADMIN: &str = "admin";
/// Its password, of use on this machine's loopback only.
pub(crate) const ADMIN_PASSWORD: &str = "admin-test-password";

const PLAIN_MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required";
const SCRAM_MODULE: &str = "org.apache.kafka.common.security.scram.ScramLoginModule required";

/// What every test cluster sets, and why it differs from Kafka's default.
const COMMON: &[(&str, &str)] = &[
    ("process.roles", "broker,controller"),
    ("node.id", "1"),
    ("inter.broker.listener.name", "INTERNAL"),
    ("controller.listener.names", "CONTROLLER"),
    // A topic that appears by itself hides a mistake.
    ("auto.create.topics.enable", "false"),
    // The one setting that gtc asks of a cluster.
    ("transaction.max.timeout.ms", "2147483647"),
    // One node can hold one replica.
    ("offsets.topic.replication.factor", "1"),
    ("transaction.state.log.replication.factor", "1"),
    ("transaction.state.log.min.isr", "1"),
    ("share.coordinator.state.topic.replication.factor", "1"),
    ("share.coordinator.state.topic.min.isr", "1"),
    // Few partitions: each costs files and start time.
    ("offsets.topic.num.partitions", "4"),
    ("transaction.state.log.num.partitions", "4"),
    ("share.coordinator.state.topic.num.partitions", "1"),
    // A test must not wait for a group's first rebalance, nor 10 s for an expired transaction.
    ("group.initial.rebalance.delay.ms", "0"),
    ("group.min.session.timeout.ms", "1000"),
    (
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "500",
    ),
    // A killed broker can only register again once its old session is over: 9 s by default.
    ("broker.session.timeout.ms", "2000"),
    ("broker.heartbeat.interval.ms", "400"),
    // Tests write records of timestamps long ago, which the usual seven days would have removed at any moment.
    ("log.retention.ms", "-1"),
    // Several brokers share one small machine.
    ("num.network.threads", "2"),
    ("num.io.threads", "4"),
    ("background.threads", "2"),
    ("group.coordinator.threads", "1"),
    ("log.cleaner.dedupe.buffer.size", "16777216"),
    ("log.index.size.max.bytes", "1048576"),
];

/// The ports of one broker.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) client: Port,
    pub(crate) internal: Port,
    pub(crate) controller: Port,
    pub(crate) mutual_tls: Port,
}

impl Ports {
    pub(crate) fn reserve() -> Result<Self> {
        Ok(Self {
            client: Port::reserve()?,
            internal: Port::reserve()?,
            controller: Port::reserve()?,
            mutual_tls: Port::reserve()?,
        })
    }
}

/// Everything the properties are made of.
pub(crate) struct Layout<'a> {
    pub(crate) options: &'a ClusterOptions,
    pub(crate) ports: &'a Ports,
    pub(crate) data: &'a Path,
    pub(crate) keys: Option<&'a Keys>,
}

impl Layout<'_> {
    /// The text of the file.
    pub(crate) fn server_properties(&self) -> String {
        let mut properties: BTreeMap<String, String> = COMMON
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let mut set = |name: &str, value: String| properties.insert(name.into(), value);
        set("log.dirs", self.data.display().to_string());
        set(
            "num.partitions",
            self.options.default_partitions.to_string(),
        );
        let controller = self.ports.controller.number();
        set(
            "controller.quorum.voters",
            format!("1@127.0.0.1:{controller}"),
        );
        for (name, value) in self.listeners() {
            set(name, value);
        }
        if let (Security::Secure, Some(keys)) = (self.options.security, self.keys) {
            for (name, value) in security_properties(keys) {
                set(&name, value);
            }
        }
        properties.extend(self.options.properties.clone());
        properties
            .iter()
            .fold(String::new(), |mut text, (name, value)| {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{name}={value}");
                text
            })
    }

    /// The broker talks to itself on INTERNAL, so that a proxy before CLIENT sees and delays
    /// clients only.
    fn listeners(&self) -> [(&'static str, String); 3] {
        let client = self.ports.client.number();
        let advertised = self.options.advertised_port.unwrap_or(client);
        let internal = address("INTERNAL", self.ports.internal.number());
        let controller = address("CONTROLLER", self.ports.controller.number());
        let (mutual_tls, protocols) = match self.options.security {
            Security::Plain => (
                String::new(),
                "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            ),
            Security::Secure => (
                format!(",{}", address("MTLS", self.ports.mutual_tls.number())),
                "CLIENT:SASL_SSL,MTLS:SSL,INTERNAL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
            ),
        };
        let bound = format!(
            "{},{internal},{controller}{mutual_tls}",
            address("CLIENT", client)
        );
        let told = format!("{},{internal}{mutual_tls}", address("CLIENT", advertised));
        [
            ("listeners", bound),
            ("advertised.listeners", told),
            ("listener.security.protocol.map", protocols.into()),
        ]
    }
}

fn address(listener: &str, port: u16) -> String {
    format!("{listener}://127.0.0.1:{port}")
}

/// TLS, SASL and the authorizer. INTERNAL and CONTROLLER serve this machine's own super user.
fn security_properties(keys: &Keys) -> Vec<(String, String)> {
    let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
    let authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer";
    let mut all = vec![
        pair("authorizer.class.name", authorizer),
        pair("super.users", &format!("User:{ADMIN}")),
        pair("sasl.mechanism.inter.broker.protocol", "PLAIN"),
        pair("sasl.mechanism.controller.protocol", "PLAIN"),
        pair("ssl.keystore.type", "PEM"),
        pair(
            "ssl.keystore.location",
            &keys.broker_pem().display().to_string(),
        ),
        pair("ssl.truststore.type", "PEM"),
        pair("ssl.truststore.location", &keys.ca().display().to_string()),
        pair("listener.name.mtls.ssl.client.auth", "required"),
        pair(
            "listener.name.mtls.ssl.principal.mapping.rules",
            "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
        ),
    ];
    for (listener, mechanisms) in [
        ("client", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"),
        ("internal", "PLAIN"),
        ("controller", "PLAIN"),
    ] {
        all.push((
            format!("listener.name.{listener}.sasl.enabled.mechanisms"),
            mechanisms.into(),
        ));
        all.push((
            format!("listener.name.{listener}.plain.sasl.jaas.config"),
            plain_jaas(),
        ));
    }
    for mechanism in ["scram-sha-256", "scram-sha-512"] {
        let name = format!("listener.name.client.{mechanism}.sasl.jaas.config");
        all.push((name, format!("{SCRAM_MODULE};")));
    }
    all
}

/// The broker's own login, and the users that may log in with PLAIN.
fn plain_jaas() -> String {
    format!(
        "{PLAIN_MODULE} username=\"{ADMIN}\" password=\"{ADMIN_PASSWORD}\" \
         user_{ADMIN}=\"{ADMIN_PASSWORD}\" user_{USER}=\"{USER_PASSWORD}\";"
    )
}

/// The arguments by which the storage tool stores the users of both SCRAM mechanisms.
pub(crate) fn scram_arguments() -> Vec<String> {
    let mut arguments = Vec::new();
    for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
        for (name, password) in [(USER, USER_PASSWORD), (ADMIN, ADMIN_PASSWORD)] {
            arguments.push("--add-scram".into());
            arguments.push(format!("{mechanism}=[name={name},password={password}]"));
        }
    }
    arguments
}
