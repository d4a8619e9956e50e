//! What was made, and how large it is.

use std::fs;
use std::path::{Path, PathBuf};

use super::about;
use crate::command::Failure;

/// Each package, with the native parts that were installed from it.
pub(super) fn print(packages: &[(PathBuf, Vec<PathBuf>)]) -> Result<(), Failure> {
    let mut rows = vec![["file", "packed", "native part"].map(str::to_owned)];
    for (file, natives) in packages {
        let natives: Result<Vec<String>, Failure> = natives.iter().map(|one| named(one)).collect();
        rows.push([name(file), size(length(file)?), natives?.join(", ")]);
    }
    lines(&rows).iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn named(file: &Path) -> Result<String, Failure> {
    Ok(format!("{} {}", name(file), size(length(file)?)))
}

fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn length(file: &Path) -> Result<u64, Failure> {
    let found = fs::metadata(file).map_err(|cause| about(file, &cause))?;
    Ok(found.len())
}

/// In thousands, as package registries count.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn lines(rows: &[[String; 3]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let line = |[file, packed, native]: &[String; 3]| {
        let line = format!("{file:first$}  {packed:>second$}  {native}");
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stand_below_each_other() {
        assert_eq!([size(291_400), size(4_230_000)], ["291 kB", "4.2 MB"]);
        let rows = [["a.whl", "4.2 MB", "a.so 9.9 MB"], ["b", "291 kB", ""]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let expected = ["a.whl  4.2 MB  a.so 9.9 MB", "b      291 kB"];
        assert_eq!(lines(&rows), expected);
    }
}
