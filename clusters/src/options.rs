//! What a caller can choose about a cluster.

use std::collections::BTreeMap;

/// How clients reach a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Security {
    /// No encryption, no authentication, everybody may do everything.
    Plain,
    /// TLS with SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512) on one listener, mutual TLS on a second
    /// one, and ACLs that allow nothing to the ordinary principal until
    /// [`crate::Cluster::add_acls`] is called.
    Secure,
}

/// The age of the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Generation {
    /// Kafka 4.4.0, `transaction.version` 2.
    Current,
    /// Kafka 4.0.0, formatted with `transaction.version` 1.
    TransactionVersion1,
}

impl Generation {
    pub(crate) fn kafka_version(self) -> &'static str {
        match self {
            Self::Current => "4.4.0",
            Self::TransactionVersion1 => "4.0.0",
        }
    }

    /// The arguments by which the storage tool finalises this generation's features.
    pub(crate) fn format_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Current => &[],
            Self::TransactionVersion1 => &["--feature", "transaction.version=1"],
        }
    }
}

/// Describes a cluster to start; a plain one of the current generation unless told otherwise.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    pub(crate) name: String,
    pub(crate) security: Security,
    pub(crate) generation: Generation,
    pub(crate) advertised_port: Option<u16>,
    pub(crate) default_partitions: u32,
    pub(crate) properties: BTreeMap<String, String>,
}

impl ClusterOptions {
    /// A cluster of this name, which shows in its directory and in errors.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            security: Security::Plain,
            generation: Generation::Current,
            advertised_port: None,
            default_partitions: 1,
            properties: BTreeMap::new(),
        }
    }

    /// Chooses how clients reach it.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Chooses the brokers' age.
    #[must_use]
    pub fn generation(mut self, generation: Generation) -> Self {
        self.generation = generation;
        self
    }

    /// Tells clients to come to this port, where a [`crate::Proxy`] listens. The listener for mutual
    /// TLS stays as it is.
    #[must_use]
    pub fn advertised_port(mut self, port: u16) -> Self {
        self.advertised_port = Some(port);
        self
    }

    /// The partitions of a topic that is created without a count.
    #[must_use]
    pub fn default_partitions(mut self, count: u32) -> Self {
        self.default_partitions = count;
        self
    }

    /// Sets any broker property; it wins over the ones that this crate sets.
    #[must_use]
    pub fn property(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.properties.insert(name.into(), value.into());
        self
    }
}
