//! The comparison itself, without any cluster.

use std::collections::{BTreeMap, HashMap};

use super::{ClusterView, Evidence, GroupRow, Link, PartitionView, Report, Row};
use crate::journal::Entry;

/// How many anomalies are told by name; the counts hold all.
const NAMED: usize = 20;

/// One expected record.
struct Expected<'a> {
    origin: &'a str,
    partition: i32,
    entry: &'a Entry,
}

/// All expected records, the copies of each that each view shows, and where to find a record by its id.
struct Index<'a> {
    expected: Vec<Expected<'a>>,
    by_id: HashMap<&'a str, usize>,
    copies: HashMap<&'a str, Vec<u32>>,
}

/// Compares.
#[must_use]
pub fn judge(evidence: &Evidence) -> Report {
    let mut index = index(evidence);
    let mut report = Report::default();
    for view in &evidence.views {
        let mut copies = vec![0; index.expected.len()];
        let mut rows = rows_of(view, &index);
        for (partition, shown) in &view.partitions {
            let row = rows.entry(*partition).or_default();
            walk(
                &index,
                (shown, *partition),
                &mut copies,
                (row, &mut report.named),
            );
        }
        index.copies.insert(&view.cluster, copies);
        count_missing(&index, &view.cluster, &mut rows, &mut report.named);
        report.rows.extend(rows.into_values());
    }
    count_torn(evidence, &index, &mut report);
    for link in &evidence.links {
        report.groups.extend(group_rows(evidence, &index, link));
    }
    report.named.truncate(NAMED);
    report
}

fn index(evidence: &Evidence) -> Index<'_> {
    let mut expected = Vec::new();
    let mut by_id = HashMap::new();
    for journal in &evidence.journals {
        for (partition, entries) in &journal.partitions {
            for entry in entries {
                by_id.insert(entry.id.as_str(), expected.len());
                let (origin, partition) = (journal.origin.as_str(), *partition);
                expected.push(Expected {
                    origin,
                    partition,
                    entry,
                });
            }
        }
    }
    Index {
        expected,
        by_id,
        copies: HashMap::new(),
    }
}

/// An empty row for every partition that is there or should be.
fn rows_of(view: &ClusterView, index: &Index<'_>) -> BTreeMap<i32, Row> {
    let expected = index.expected.iter().map(|expected| expected.partition);
    expected
        .chain(view.partitions.keys().copied())
        .map(|partition| (partition, Row::new(&view.cluster, partition)))
        .collect()
}

/// Goes through one partition in its order: what is unknown, altered, there twice or before its predecessor.
fn walk<'a>(
    index: &Index<'a>,
    (shown, partition): (&PartitionView, i32),
    copies: &mut [u32],
    (row, named): (&mut Row, &mut Vec<String>),
) {
    row.records = shown.records.len();
    row.stable = shown.stable;
    row.high = shown.high;
    let mut newest: HashMap<&'a str, usize> = HashMap::new();
    for seen in &shown.records {
        let found = seen.id.as_deref().and_then(|id| index.by_id.get(id));
        let Some(&at) = found else {
            row.unexpected += 1;
            named.push(format!(
                "{}: unexpected {:?} at {}",
                row.place(),
                seen.id,
                seen.offset
            ));
            continue;
        };
        let expected = &index.expected[at];
        let place = row.place();
        let mut tell = |what: &str| {
            named.push(format!(
                "{place}: {what} {} at {}",
                expected.entry.id, seen.offset
            ));
        };
        copies[at] += 1;
        if copies[at] > 1 {
            tell("duplicated");
            row.duplicated += 1;
            continue;
        }
        if expected.entry.digest != seen.digest || expected.partition != partition {
            tell("altered");
            row.altered += 1;
        }
        let last = newest.entry(expected.origin).or_insert(at);
        if *last > at {
            tell("out of order");
            row.out_of_order += 1;
        }
        *last = at.max(*last);
    }
}

fn count_missing(
    index: &Index<'_>,
    cluster: &str,
    rows: &mut BTreeMap<i32, Row>,
    named: &mut Vec<String>,
) {
    let copies = &index.copies[cluster];
    for (expected, _) in index
        .expected
        .iter()
        .zip(copies)
        .filter(|(_, copies)| **copies == 0)
    {
        if let Some(row) = rows.get_mut(&expected.partition) {
            row.missing += 1;
            named.push(format!("{}: missing {}", row.place(), expected.entry.id));
        }
    }
}

/// A record is torn where it is missing while another destination of the same fan-out has it.
fn count_torn(evidence: &Evidence, index: &Index<'_>, report: &mut Report) {
    let mut fans: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for link in &evidence.links {
        fans.entry((&link.from, &link.group))
            .or_default()
            .push(&link.to);
    }
    for destinations in fans.values().filter(|destinations| destinations.len() > 1) {
        for (at, expected) in index.expected.iter().enumerate() {
            let has = |to: &&str| index.copies.get(*to).is_some_and(|copies| copies[at] > 0);
            if !destinations.iter().any(has) {
                continue;
            }
            for to in destinations.iter().filter(|to| !has(to)) {
                let place = (*to, expected.partition);
                let row = report
                    .rows
                    .iter_mut()
                    .find(|row| (row.cluster.as_str(), row.partition) == place);
                if let Some(row) = row {
                    row.torn += 1;
                    report
                        .named
                        .push(format!("{}: torn {}", row.place(), expected.entry.id));
                }
            }
        }
    }
}

/// Where a group stands against what the destination holds of the source's log.
fn group_rows(evidence: &Evidence, index: &Index<'_>, link: &Link) -> Vec<GroupRow> {
    let source = evidence.views.iter().find(|view| view.cluster == link.from);
    let copies = index.copies.get(link.to.as_str());
    let (Some(source), Some(copies)) = (source, copies) else {
        return Vec::new();
    };
    source
        .partitions
        .iter()
        .map(|(partition, shown)| {
            let offset = link.offsets.get(partition).copied().flatten();
            let mut row = GroupRow::new(link, *partition, offset);
            row.end = shown.records.last().map_or(0, |last| last.offset + 1);
            let reached = offset.unwrap_or(0);
            row.ahead = usize::from(reached > shown.high);
            for seen in &shown.records {
                let found = seen.id.as_deref().and_then(|id| index.by_id.get(id));
                let Some(&at) = found else { continue };
                // What began at the destination never travels over this link.
                if index.expected[at].origin == link.to {
                    continue;
                }
                row.ahead += usize::from(seen.offset < reached && copies[at] == 0);
                row.behind += usize::from(seen.offset >= reached && copies[at] > 0);
            }
            row
        })
        .collect()
}

#[cfg(test)]
mod tests;
