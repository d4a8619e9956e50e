//! The rights that the documentation lists, read from the documentation itself: a run on secure clusters proves it.

use gtc_clusters::{Acl, Operation, Resource};

use crate::error::{Error, Result};

const DOCUMENT: &str = include_str!("../../docs/acls.md");

/// The documented rights for all jobs on `topic` of all coordinators whose ids begin with `coordinators`. A cluster of a mesh
/// is a source and a destination, so the rights of both are among them.
///
/// # Errors
/// The document has a row that this crate does not understand.
pub fn documented(topic: &str, coordinators: &str) -> Result<Vec<Acl>> {
    let group = format!("gtc-{coordinators}");
    let fill = |name: &str| {
        name.trim_matches('`')
            .replace("<coordinator>", coordinators)
            .replace("<group>", &group)
            .replace("<topic>", topic)
    };
    let rows = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1);
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, resource, pattern, name, operation, _] = cells[..] else {
            return Err(unreadable(line));
        };
        let (Some(resource), Some(operation)) = (resource_of(resource), operation_of(operation))
        else {
            return Err(unreadable(line));
        };
        match pattern {
            "literal" => Ok(Acl::literal(resource, fill(name), operation)),
            "prefixed" => Ok(Acl::prefixed(resource, fill(name), operation)),
            _ => Err(unreadable(line)),
        }
    })
    .collect()
}

fn resource_of(word: &str) -> Option<Resource> {
    Some(match word {
        "Topic" => Resource::Topic,
        "Group" => Resource::Group,
        "Cluster" => Resource::Cluster,
        "TransactionalId" => Resource::TransactionalId,
        _ => return None,
    })
}

fn operation_of(word: &str) -> Option<Operation> {
    Some(match word {
        "Read" => Operation::Read,
        "Write" => Operation::Write,
        "Create" => Operation::Create,
        "Alter" => Operation::Alter,
        "Describe" => Operation::Describe,
        "DescribeConfigs" => Operation::DescribeConfigs,
        _ => return None,
    })
}

fn unreadable(line: &str) -> Error {
    Error::new(format!("docs/acls.md: this row names no right: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_rights_are_understood_and_filled_in() {
        let acls = documented("mesh", "mesh-").unwrap();
        assert!(acls.contains(&Acl::literal(Resource::Topic, "mesh", Operation::Read)));
        let slots = Acl::prefixed(Resource::TransactionalId, "gtc.mesh-", Operation::Write);
        assert!(acls.contains(&slots));
        assert!(acls.contains(&Acl::prefixed(
            Resource::Group,
            "gtc-mesh-",
            Operation::Read
        )));
        assert!(!acls.contains(&Acl::literal(Resource::Topic, "mesh", Operation::All)));
    }
}
