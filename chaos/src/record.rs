//! Records as the runs write them and as the checker sees them.

use crc::{CRC_64_XZ, Crc};

/// The header that makes each record unique, for instance `us:17`: the cluster of its origin and a running number.
pub const ID_HEADER: &str = "gtc-chaos.id";

/// Headers with this prefix belong to the program under test: it may add them, and they are not compared.
pub const FOREIGN_HEADER_PREFIX: &str = "gtc.";

const DIGEST: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);

/// A record to write, or one that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The partition it belongs to.
    pub partition: i32,
    /// The key, if any.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
    /// The headers in their order; names may repeat.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// The timestamp in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
}

impl Record {
    /// The id that the loader gave to it.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        let (_, value) = self.headers.iter().find(|(name, _)| name == ID_HEADER)?;
        String::from_utf8(value.clone()?).ok()
    }

    /// A checksum over all that a faithful copy keeps: key, value, headers and timestamp.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut digest = DIGEST.digest();
        let mut field = |bytes: Option<&[u8]>| {
            let length = bytes.map_or(u64::MAX, |bytes| bytes.len() as u64);
            digest.update(&length.to_be_bytes());
            digest.update(bytes.unwrap_or_default());
        };
        field(self.key.as_deref());
        field(self.value.as_deref());
        field(Some(&self.timestamp_ms.to_be_bytes()));
        for (name, value) in &self.headers {
            if !name.starts_with(FOREIGN_HEADER_PREFIX) {
                field(Some(name.as_bytes()));
                field(value.as_deref());
            }
        }
        digest.finalize()
    }
}

/// The partition of a key among `partitions`, by its checksum.
#[must_use]
pub fn partition_of(key: &[u8], partitions: i32) -> i32 {
    let count = u64::try_from(partitions).unwrap_or(1).max(1);
    i32::try_from(DIGEST.checksum(key) % count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record {
        Record {
            key: Some(b"UA1545".to_vec()),
            value: Some(b"row".to_vec()),
            headers: vec![
                (ID_HEADER.into(), Some(b"us:1".to_vec())),
                ("colour".into(), Some(b"red".to_vec())),
                ("colour".into(), Some(b"blue".to_vec())),
            ],
            timestamp_ms: 7,
            ..Record::default()
        }
    }

    #[test]
    fn the_digest_sees_every_part_that_a_copy_keeps() {
        let original = sample().digest();
        let changes: [fn(&mut Record); 6] = [
            |record| record.key = None,
            |record| record.key = Some(Vec::new()),
            |record| record.value = None,
            |record| record.timestamp_ms += 1,
            |record| record.headers.swap(1, 2),
            |record| record.headers[1].1 = None,
        ];
        for change in changes {
            let mut record = sample();
            change(&mut record);
            assert_ne!(record.digest(), original, "{record:?}");
        }
    }

    #[test]
    fn headers_of_the_program_are_not_compared() {
        let mut record = sample();
        record
            .headers
            .push(("gtc.origin".into(), Some(b"cluster".to_vec())));
        assert_eq!(record.digest(), sample().digest());
        assert_eq!(record.id().as_deref(), Some("us:1"));
    }
}
