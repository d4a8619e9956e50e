//! The judgement of what was consumed: each record that the group has passed became one copy, and no other did.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::journal::Final;
use super::{Anomaly, Evidence, Kind, Shown};

/// A partition of the source and an offset in it.
type Place = (i32, i64);

pub(super) fn judge(evidence: &Evidence, anomalies: &mut Vec<Anomaly>) {
    let spared = spared(evidence);
    let copies = copies(evidence);
    let sources = sources(evidence);
    for (place, made) in &copies {
        if spared.contains(place) {
            continue;
        }
        let (partition, offset) = place;
        let committed = evidence
            .offsets
            .get(partition)
            .copied()
            .flatten()
            .unwrap_or(0);
        let tx = &made[0].tx;
        let mut add = |kind, what: String| anomalies.push(Anomaly::new(kind, tx, what));
        let place_text = format!("source {partition}:{offset}");
        if made.len() > 1 {
            let all: Vec<&str> = made.iter().map(|copy| copy.tx.as_str()).collect();
            add(
                Kind::Duplicated,
                format!("{place_text} was consumed by {}", all.join(", ")),
            );
        }
        if *offset >= committed {
            add(
                Kind::OffsetsBehind,
                format!("{place_text}: the group stands at {committed}"),
            );
        }
        if !sources.contains(place) {
            add(
                Kind::AbortedRead,
                format!("{place_text} was consumed, and is not committed"),
            );
        }
    }
    for place in sources.iter().filter(|place| !copies.contains_key(*place)) {
        let (partition, offset) = place;
        let committed = evidence
            .offsets
            .get(partition)
            .copied()
            .flatten()
            .unwrap_or(0);
        if *offset < committed && !spared.contains(place) {
            let what = format!(
                "source {partition}:{offset}: the group stands at {committed}, and there is no copy"
            );
            anomalies.push(Anomaly::new(Kind::OffsetsAhead, "", what));
        }
    }
    order(evidence, &spared, anomalies);
}

/// What transactions with a heuristic outcome were made of: its repair is up to people, and they were told.
fn spared(evidence: &Evidence) -> BTreeSet<Place> {
    let transactions = evidence.journals.transactions.values();
    let mixed = transactions.filter(|tx| tx.outcome() == Final::Mixed);
    mixed
        .flat_map(|tx| tx.sources().collect::<Vec<_>>())
        .collect()
}

fn shown<'a>(evidence: &'a Evidence, cluster: &'a str) -> impl Iterator<Item = &'a Shown> {
    let views = evidence
        .views
        .iter()
        .filter(move |view| view.cluster == cluster);
    views.flat_map(|view| &view.records)
}

fn copies(evidence: &Evidence) -> BTreeMap<Place, Vec<&Shown>> {
    let mut copies: BTreeMap<Place, Vec<&Shown>> = BTreeMap::new();
    for record in shown(evidence, &evidence.description.target) {
        if let Some(place) = record.source {
            copies.entry(place).or_default().push(record);
        }
    }
    copies
}

fn sources(evidence: &Evidence) -> BTreeSet<Place> {
    let records = shown(evidence, &evidence.description.source);
    let plain = records.filter(|record| record.topic == evidence.description.topic);
    plain
        .map(|record| (record.partition, record.offset))
        .collect()
}

/// Copies of one partition stand in the order of their sources, whoever made them.
fn order(evidence: &Evidence, spared: &BTreeSet<Place>, anomalies: &mut Vec<Anomaly>) {
    let mut last: HashMap<(i32, i32), i64> = HashMap::new();
    for record in shown(evidence, &evidence.description.target) {
        let Some((partition, offset)) = record.source else {
            continue;
        };
        if spared.contains(&(partition, offset)) {
            continue;
        }
        let before = last.entry((record.partition, partition)).or_insert(offset);
        if offset < *before {
            let what = format!(
                "the copy of source {partition}:{offset} stands behind that of {before}, at {}/{} offset {}",
                record.topic, record.partition, record.offset
            );
            anomalies.push(Anomaly::new(Kind::OutOfOrder, &record.tx, what));
        }
        *before = offset.max(*before);
    }
}
