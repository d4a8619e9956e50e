//! Records on their way in, as `gtc.Packed` has written them: one piece of memory, which crosses in
//! one call. Keys and values are views of it.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use gtc::Record;
use jni::Env;
use jni::objects::JByteArray;

use crate::border::Failure;

/// What is left of the piece, and the topic of the last record.
pub(crate) struct Packed {
    bytes: Bytes,
    topic: Arc<str>,
}

impl Packed {
    /// The only copy of it on this side: the JVM moves its arrays about.
    pub(crate) fn new(env: &Env<'_>, array: &JByteArray<'_>) -> Result<Self, Failure> {
        Ok(Self {
            bytes: env.convert_byte_array(array)?.into(),
            topic: "".into(),
        })
    }

    /// The next record. The package has written all of it; else this panics, which the border turns
    /// into an exception.
    pub(crate) fn record(&mut self) -> Record {
        let partition = self.bytes.get_i32();
        let timestamp_ms = self.bytes.get_i64();
        if let Some(topic) = self.part() {
            self.topic = String::from_utf8_lossy(&topic).into();
        }
        Record {
            partition: (partition >= 0).then_some(partition),
            key: self.part(),
            value: self.part(),
            headers: self.headers(),
            timestamp_ms: (timestamp_ms >= 0).then_some(timestamp_ms),
            ..Record::to(self.topic.clone())
        }
    }

    fn headers(&mut self) -> Vec<(String, Option<Bytes>)> {
        let count = self.bytes.get_i32();
        let header = |_| {
            let name = self.part().unwrap_or_default();
            (String::from_utf8_lossy(&name).into_owned(), self.part())
        };
        (0..count).map(header).collect()
    }

    /// Bytes behind their length; none where that is negative.
    fn part(&mut self) -> Option<Bytes> {
        let length = usize::try_from(self.bytes.get_i32()).ok()?;
        Some(self.bytes.copy_to_bytes(length))
    }
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};

    use super::*;

    fn put(bytes: &mut BytesMut, part: Option<&[u8]>) {
        match part {
            Some(part) => {
                bytes.put_i32(i32::try_from(part.len()).unwrap());
                bytes.put_slice(part);
            }
            None => bytes.put_i32(-1),
        }
    }

    #[test]
    fn a_record_without_a_topic_has_that_of_the_one_before() {
        let mut bytes = BytesMut::new();
        bytes.put_i32(2);
        bytes.put_i64(7);
        put(&mut bytes, Some(b"orders"));
        put(&mut bytes, Some(b""));
        put(&mut bytes, Some(b"value"));
        bytes.put_i32(1);
        put(&mut bytes, Some(b"name"));
        put(&mut bytes, None);
        bytes.put_i32(-1);
        bytes.put_i64(-1);
        for _ in ["topic", "key", "value"] {
            put(&mut bytes, None);
        }
        bytes.put_i32(0);
        let mut packed = Packed {
            bytes: bytes.freeze(),
            topic: "".into(),
        };
        let first = Record {
            partition: Some(2),
            key: Some(Bytes::new()),
            value: Some("value".into()),
            headers: vec![("name".to_owned(), None)],
            timestamp_ms: Some(7),
            ..Record::to("orders")
        };
        assert_eq!(packed.record(), first);
        assert_eq!(packed.record(), Record::to("orders"));
        assert!(packed.bytes.is_empty());
    }
}
