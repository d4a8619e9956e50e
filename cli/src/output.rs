//! Reports on stdout: aligned tables for people, JSON for machines.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use serde::Serialize;

/// Writes one line and flushes it; a reader that went away is no error of ours.
pub(crate) fn line(text: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Writes one JSON value as one line.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(text) => line(&text),
        Err(error) => tracing::error!(%error, "a report cannot be written as JSON"),
    }
}

/// Columns that line up.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table under these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(ToString::to_string).collect()],
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The text, without a line end at its end.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let lines: Vec<String> = self
            .rows
            .iter()
            .map(|row| render_row(row, &widths))
            .collect();
        lines.join("\n")
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

fn render_row(cells: &[String], widths: &[usize]) -> String {
    let padded = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:<width$}"));
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// A moment as people read it, in UTC.
pub(crate) fn utc(unix_ms: u64) -> String {
    let since_epoch = Duration::from_millis(unix_ms);
    match SystemTime::UNIX_EPOCH.checked_add(since_epoch) {
        Some(moment) => humantime::format_rfc3339_seconds(moment).to_string(),
        None => format!("{unix_ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_space() {
        let mut table = Table::new(&["ID", "STATE", "DETAIL"]);
        table.row(["3-17".into(), "in doubt".into(), String::new()]);
        table.row(["10-4".into(), "mixed".into(), "überfällig".into()]);
        let expected = "ID    STATE     DETAIL\n3-17  in doubt\n10-4  mixed     überfällig";
        assert_eq!(table.render(), expected);
    }

    #[test]
    fn moments_are_written_in_utc() {
        for (unix_ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59Z"),
        ] {
            assert_eq!(utc(unix_ms), text);
        }
    }
}
