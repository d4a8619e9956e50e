//! What the checker found, for people and for machines.

use serde::Serialize;

use super::Link;
use crate::table::aligned;

/// One partition of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The cluster.
    pub cluster: String,
    /// The partition.
    pub partition: i32,
    /// Records that a read_committed reader sees.
    pub records: usize,
    /// Acknowledged at their origin, not here.
    pub missing: usize,
    /// Copies beyond the first.
    pub duplicated: usize,
    /// Records that stand behind a successor of the same origin.
    pub out_of_order: usize,
    /// Missing here, but not at another destination of the same fan-out.
    pub torn: usize,
    /// Other content, or another partition, than was written.
    pub altered: usize,
    /// Records that nobody is known to have written.
    pub unexpected: usize,
    /// The last stable offset.
    pub stable: i64,
    /// The high watermark.
    pub high: i64,
}

impl Row {
    pub(super) fn new(cluster: &str, partition: i32) -> Self {
        Self {
            cluster: cluster.into(),
            partition,
            ..Self::default()
        }
    }

    pub(super) fn place(&self) -> String {
        format!("{}/{}", self.cluster, self.partition)
    }

    /// Whether an open transaction holds readers back.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.stable < self.high
    }

    fn anomalies(&self) -> usize {
        let counted = self.missing + self.duplicated + self.out_of_order + self.torn;
        counted + self.altered + self.unexpected + usize::from(self.is_stuck())
    }

    fn cells(&self) -> Vec<String> {
        let stuck = if self.is_stuck() {
            format!("{} of {}", self.stable, self.high)
        } else {
            "-".into()
        };
        let counts = [
            self.records,
            self.missing,
            self.duplicated,
            self.out_of_order,
            self.torn,
            self.altered,
            self.unexpected,
        ];
        let places = [self.cluster.clone(), self.partition.to_string()];
        places
            .into_iter()
            .chain(counts.map(|count| count.to_string()))
            .chain([stuck])
            .collect()
    }
}

/// Where a group stands in one partition of its source, against one destination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GroupRow {
    /// The source cluster.
    pub from: String,
    /// The destination.
    pub to: String,
    /// The group.
    pub group: String,
    /// The partition of the source.
    pub partition: i32,
    /// The group's committed offset.
    pub offset: Option<i64>,
    /// The offset behind the source's last record.
    pub end: i64,
    /// Records before the offset that the destination lacks, and one more if the offset lies behind the log's end.
    pub ahead: usize,
    /// Records at or behind the offset that the destination has.
    pub behind: usize,
}

impl GroupRow {
    pub(super) fn new(link: &Link, partition: i32, offset: Option<i64>) -> Self {
        Self {
            from: link.from.clone(),
            to: link.to.clone(),
            group: link.group.clone(),
            partition,
            offset,
            ..Self::default()
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            format!("{} -> {}", self.from, self.to),
            self.group.clone(),
            self.partition.to_string(),
            self.offset
                .map_or("none".into(), |offset| offset.to_string()),
            self.end.to_string(),
            self.ahead.to_string(),
            self.behind.to_string(),
        ]
    }
}

/// The judgement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Each partition of each cluster.
    pub rows: Vec<Row>,
    /// Each partition of each replication.
    pub groups: Vec<GroupRow>,
    /// The first anomalies by name.
    pub named: Vec<String>,
}

impl Report {
    /// How many anomalies there are.
    #[must_use]
    pub fn anomalies(&self) -> usize {
        let groups = self.groups.iter().map(|row| row.ahead + row.behind);
        self.rows.iter().map(Row::anomalies).chain(groups).sum()
    }

    /// Whether all is as it should be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.anomalies() == 0
    }

    /// Both tables, the first anomalies by name and the verdict.
    #[must_use]
    pub fn to_text(&self) -> String {
        let header = [
            "cluster",
            "partition",
            "records",
            "missing",
            "duplicated",
            "out of order",
            "torn",
            "altered",
            "unexpected",
            "stuck at",
        ];
        let rows: Vec<_> = self.rows.iter().map(Row::cells).collect();
        let mut text = aligned(&header, &rows, 1);
        if !self.groups.is_empty() {
            let header = [
                "link",
                "group",
                "partition",
                "offset",
                "end of data",
                "ahead",
                "behind",
            ];
            let rows: Vec<_> = self.groups.iter().map(GroupRow::cells).collect();
            text.push('\n');
            text.push_str(&aligned(&header, &rows, 2));
        }
        text.push('\n');
        for anomaly in &self.named {
            text.push_str(anomaly);
            text.push('\n');
        }
        match self.anomalies() {
            0 => text.push_str("check: clean\n"),
            count => text.push_str(&format!("check: {count} anomalies\n")),
        }
        text
    }
}
