//! Aligned tables for people.

/// Lays out `rows` under `header`: the first `left` columns to the left, the others, numbers mostly, to the right.
#[must_use]
pub fn aligned(header: &[&str], rows: &[Vec<String>], left: usize) -> String {
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(String::len);
            cells
                .chain([header[column].len()])
                .max()
                .unwrap_or_default()
        })
        .collect();
    let header: Vec<String> = header.iter().map(ToString::to_string).collect();
    let mut text = String::new();
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column < left {
                line.push_str(&format!("{cell:<width$}  "));
            } else {
                line.push_str(&format!("{cell:>width$}  "));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_line_up() {
        let rows = [
            vec!["eu".to_string(), "20000".into()],
            vec!["north".into(), "1".into()],
        ];
        let text = aligned(&["cluster", "records"], &rows, 1);
        assert_eq!(
            text,
            "cluster  records\neu         20000\nnorth          1\n"
        );
    }
}
