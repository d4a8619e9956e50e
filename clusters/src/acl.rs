//! Access rights on a secure cluster.

use crate::config::USER;
use crate::wire::put_text;

/// What a right is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    /// A topic.
    Topic,
    /// A consumer group.
    Group,
    /// The cluster itself; its name is `kafka-cluster`.
    Cluster,
    /// A transactional.id.
    TransactionalId,
}

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Everything.
    All,
    /// Reading records, and joining a group.
    Read,
    /// Writing records, and using a transactional.id.
    Write,
    /// Creating topics.
    Create,
    /// Deleting.
    Delete,
    /// Changing partitions.
    Alter,
    /// Seeing.
    Describe,
    /// Seeing settings.
    DescribeConfigs,
    /// Changing settings.
    AlterConfigs,
    /// Producing with idempotence, without a transactional.id.
    IdempotentWrite,
}

/// One right, given to the ordinary principal `gtc` from any host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    resource: Resource,
    name: String,
    prefixed: bool,
    operation: Operation,
}

impl Acl {
    /// A right on the one resource of this name; `*` means each.
    #[must_use]
    pub fn literal(resource: Resource, name: impl Into<String>, operation: Operation) -> Self {
        Self {
            resource,
            name: name.into(),
            prefixed: false,
            operation,
        }
    }

    /// A right on every resource whose name begins so.
    #[must_use]
    pub fn prefixed(resource: Resource, prefix: impl Into<String>, operation: Operation) -> Self {
        Self {
            resource,
            name: prefix.into(),
            prefixed: true,
            operation,
        }
    }

    /// Every right on everything, for a test of something else.
    #[must_use]
    pub fn everything() -> Vec<Self> {
        vec![
            Self::literal(Resource::Topic, "*", Operation::All),
            Self::literal(Resource::Group, "*", Operation::All),
            Self::literal(Resource::Cluster, "kafka-cluster", Operation::All),
            Self::literal(Resource::TransactionalId, "*", Operation::All),
        ]
    }

    /// Appends it as an element of a CreateAcls request.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        const ALLOW: u8 = 3;
        out.push(self.resource_code());
        put_text(out, &self.name);
        out.push(if self.prefixed { 4 } else { 3 });
        put_text(out, &format!("User:{USER}"));
        put_text(out, "*");
        out.push(self.operation_code());
        out.push(ALLOW);
    }

    fn resource_code(&self) -> u8 {
        match self.resource {
            Resource::Topic => 2,
            Resource::Group => 3,
            Resource::Cluster => 4,
            Resource::TransactionalId => 5,
        }
    }

    fn operation_code(&self) -> u8 {
        match self.operation {
            Operation::All => 2,
            Operation::Read => 3,
            Operation::Write => 4,
            Operation::Create => 5,
            Operation::Delete => 6,
            Operation::Alter => 7,
            Operation::Describe => 8,
            Operation::DescribeConfigs => 10,
            Operation::AlterConfigs => 11,
            Operation::IdempotentWrite => 12,
        }
    }
}
