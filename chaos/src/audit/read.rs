//! Gathers the evidence of a run.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rdkafka::message::Message;

use super::{DESCRIPTION, Description, Evidence, Journals, NOTES, Shown, Stuck, View, read_notes};
use crate::check::{Ends, ends, group_offsets, read_records};
use crate::error::{Context, Error, Result};
use crate::kafka::Connection;

/// How long markers may be under way.
const SETTLE: Duration = Duration::from_secs(20);
/// Where the offsets of groups are: a transaction that is left open with nothing but offsets holds readers back here.
const GROUP_OFFSETS: &str = "__consumer_offsets";

/// Reads the files of a run in `directory`, and its clusters.
///
/// # Errors
/// A file is damaged or missing, or a cluster does not answer.
pub fn evidence(directory: &Path, connections: &[Connection]) -> Result<Evidence> {
    let path = directory.join(DESCRIPTION);
    let doing = format!("read {}", path.display());
    let text = std::fs::read_to_string(&path).context(&doing)?;
    let description: Description = serde_json::from_str(&text).context(&doing)?;
    let journals = journals(directory)?;
    let connection = |name: &str| {
        let found = connections
            .iter()
            .find(|connection| connection.name == name);
        found.ok_or_else(|| Error::new(format!("say how to reach the cluster {name}")))
    };
    let sites = description.clusters.iter();
    let sites: Result<Vec<_>> = sites.map(|site| connection(&site.name)).collect();
    all_different(&sites?)?;
    let views = description.clusters.iter();
    let views = views.map(|site| view(connection(&site.name)?, &description));
    let views: Result<Vec<View>> = views.collect();
    let source = connection(&description.source)?;
    Ok(Evidence {
        journals,
        views: views?,
        offsets: group_offsets(source, &description.topic, &description.group)?,
        notes: read_notes(&directory.join(NOTES))?,
        description,
    })
}

/// Two names for one cluster would show it to agree with itself.
fn all_different(connections: &[&Connection]) -> Result<()> {
    let mut names = BTreeMap::new();
    for connection in connections {
        let id = connection.cluster_id()?;
        if let Some(other) = names.insert(id, &connection.name) {
            return Err(Error::new(format!(
                "{other} and {} are one cluster: correct an address",
                connection.name
            )));
        }
    }
    Ok(())
}

fn journals(directory: &Path) -> Result<Journals> {
    let mut journals = Journals::default();
    let doing = format!("look into {}", directory.display());
    let mut count = 0;
    for entry in std::fs::read_dir(directory).context(&doing)? {
        let path = entry.context(&doing)?.path();
        if path.extension().is_some_and(|end| end == "journal") {
            journals.add_file(&path)?;
            count += 1;
        }
    }
    match count {
        0 => Err(Error::new(format!("{doing}: there is no journal"))),
        _ => Ok(journals),
    }
}

/// What a cluster shows of both topics.
fn view(connection: &Connection, description: &Description) -> Result<View> {
    let mut view = View {
        cluster: connection.name.clone(),
        ..View::default()
    };
    for topic in [&description.topic, &description.copies, GROUP_OFFSETS] {
        let ends = match ends(connection, topic, SETTLE) {
            // No group has ever been there.
            Err(_) if topic == GROUP_OFFSETS => continue,
            ends => ends?,
        };
        let stuck = ends.iter().filter(|(_, end)| end.stable < end.high);
        let stuck = stuck.map(|(partition, Ends { stable, high })| Stuck {
            topic: topic.into(),
            partition: *partition,
            stable: *stable,
            high: *high,
        });
        view.stuck.extend(stuck);
        if topic == GROUP_OFFSETS {
            continue;
        }
        read_records(connection, topic, ends.keys().copied(), &mut |message| {
            let value = message.payload().unwrap_or_default();
            view.records.push(Shown {
                topic: topic.into(),
                partition: message.partition(),
                offset: message.offset(),
                ..Shown::parse(&String::from_utf8_lossy(value))
            });
        })?;
    }
    Ok(view)
}
