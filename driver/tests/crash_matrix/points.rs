//! Crash points, as a process that was not killed has passed them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::job::Result;

/// One point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub step: String,
    participant: Option<String>,
    side: String,
    pub count: u32,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        if let Some(participant) = &self.participant {
            write!(f, ":{participant}")?;
        }
        write!(f, ":{}:{}", self.side, self.count)
    }
}

/// Reads a trace. Points that are the same as another one are left out: an `append` has the name
/// of its kind as well, and nothing happens between a write and its sync. So is `append-acknowledged`,
/// which is written where one cluster lags behind another: a row of its own sees to that.
pub fn read(trace: &Path) -> Result<Vec<Point>> {
    let mut counts = BTreeMap::new();
    let mut points = Vec::new();
    for line in std::fs::read_to_string(trace)?.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [step, participant, side] = words[..] else {
            return Err(format!("a line of the trace: {line}").into());
        };
        let has_its_own_row = step == "append-acknowledged";
        if step == "append" || has_its_own_row || (step, side) == ("log-sync", "before") {
            continue;
        }
        let count = counts.entry(line.to_owned()).or_insert(0);
        *count += 1;
        points.push(Point {
            step: step.to_owned(),
            participant: Some(participant.to_owned()).filter(|name| name != "-"),
            side: side.to_owned(),
            count: *count,
        });
    }
    Ok(points)
}

/// Those that every one of these lives passes. The others are a matter of chance: how many records gather
/// in one write of the log, how often a broker is asked.
pub fn common(lives: &[Vec<Point>]) -> Vec<Point> {
    let Some((first, others)) = lives.split_first() else {
        return Vec::new();
    };
    let (kept, left): (Vec<Point>, Vec<Point>) = first
        .iter()
        .cloned()
        .partition(|point| others.iter().all(|life| life.contains(point)));
    if !left.is_empty() {
        let left: Vec<_> = left.iter().map(ToString::to_string).collect();
        println!("not passed by every life, so no row: {}", left.join(" "));
    }
    kept
}

/// For each step and side the first occurrence, at one participant after the other. The log is
/// left out: it does the same in every variant.
pub fn pairwise(points: &[Point]) -> Vec<Point> {
    let mut first: BTreeMap<(&str, &str), Vec<&Point>> = BTreeMap::new();
    let of_variant = |point: &&Point| point.count == 1 && !point.step.starts_with("log-");
    for point in points.iter().filter(of_variant) {
        let alike = first.entry((&point.step, &point.side)).or_default();
        alike.push(point);
    }
    first
        .into_values()
        .enumerate()
        .map(|(index, mut alike)| {
            alike.sort();
            alike[index % alike.len()].clone()
        })
        .collect()
}
