//! Records as C writes them and reads them.
#![allow(unsafe_code, reason = "records of callers are read here")]

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use gtc::{ConsumedRecord, Record};

use crate::arena::Arena;
use crate::border::{Answer, bytes, items, text};
use crate::error::Failure;

/// The partitioner chooses the partition.
pub const GTC_PARTITION_ANY: i32 = -1;

/// A record without a timestamp: now, when it is written.
pub const GTC_TIMESTAMP_NONE: i64 = -1;

/// Bytes. `data` is NULL where there are none: a null key, or a tombstone, which differ from empty
/// ones.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_bytes {
    /// The first one.
    pub data: *const c_void,
    /// How many there are.
    pub length: usize,
}

impl gtc_bytes {
    pub(crate) const NONE: Self = Self {
        data: ptr::null(),
        length: 0,
    };

    pub(crate) fn of(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self::NONE, |bytes| Self {
            data: bytes.as_ptr().cast(),
            length: bytes.len(),
        })
    }
}

/// A header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_header {
    /// Its name, in UTF-8. It need not end with a NUL, and does not in a record that was read.
    pub name: *const c_char,
    /// The bytes of the name.
    pub name_length: usize,
    /// Its value, which may be null.
    pub value: gtc_bytes,
}

/// A record to write; begin with `gtc_record_to`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_record {
    /// The topic.
    pub topic: *const c_char,
    /// The partition, or `GTC_PARTITION_ANY`.
    pub partition: i32,
    /// Milliseconds since the Unix epoch, or `GTC_TIMESTAMP_NONE` for now.
    pub timestamp_ms: i64,
    /// The key, which may be null.
    pub key: gtc_bytes,
    /// The value; null is a tombstone.
    pub value: gtc_bytes,
    /// The headers in their order; NULL where there are none.
    pub headers: *const gtc_header,
    /// How many there are.
    pub headers_length: usize,
}

/// A record that was read. It lives as long as its batch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_consumed_record {
    /// The topic.
    pub topic: *const c_char,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// Milliseconds since the Unix epoch, or `GTC_TIMESTAMP_NONE`.
    pub timestamp_ms: i64,
    /// The key; its data is NULL where it is null.
    pub key: gtc_bytes,
    /// The value; its data is NULL in a tombstone.
    pub value: gtc_bytes,
    /// The headers in their order; NULL where there are none.
    pub headers: *const gtc_header,
    /// How many there are.
    pub headers_length: usize,
}

/// An empty record for a topic, to be filled in: any partition, now, null key and null value.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_record_to(topic: *const c_char) -> gtc_record {
    gtc_record {
        topic,
        partition: GTC_PARTITION_ANY,
        timestamp_ms: GTC_TIMESTAMP_NONE,
        key: gtc_bytes::NONE,
        value: gtc_bytes::NONE,
        headers: ptr::null(),
        headers_length: 0,
    }
}

/// Copies records of the caller's once, all into one piece of memory.
///
/// # Safety
/// The records and what they point to are readable.
pub(crate) unsafe fn outgoing(records: &[gtc_record]) -> Answer<Vec<Record>> {
    let mut copy = Copy::default();
    let mut made = Vec::with_capacity(records.len());
    for record in records {
        // SAFETY: as the caller promises.
        made.push(unsafe { copy.record(record) }?);
    }
    Ok(made)
}

#[derive(Default)]
struct Copy {
    buffer: BytesMut,
    /// Of the record before: most have the same.
    topic: Option<Arc<str>>,
}

impl Copy {
    /// # Safety
    /// The record and what it points to are readable.
    unsafe fn record(&mut self, record: &gtc_record) -> Answer<Record> {
        // SAFETY: as the caller promises.
        let (topic, key, value, headers) = unsafe {
            (
                text(record.topic, "topic")?,
                bytes(&record.key, "key")?,
                bytes(&record.value, "value")?,
                items(record.headers, record.headers_length, "headers")?,
            )
        };
        let mut made = Record::to(self.topic(topic));
        made.partition = match record.partition {
            GTC_PARTITION_ANY => None,
            partition => Some(partition),
        };
        made.timestamp_ms = match record.timestamp_ms {
            GTC_TIMESTAMP_NONE => None,
            time => Some(time),
        };
        made.key = key.map(|key| self.bytes(key));
        made.value = value.map(|value| self.bytes(value));
        for header in headers {
            // SAFETY: as the caller promises.
            made.headers.push(unsafe { self.header(header) }?);
        }
        Ok(made)
    }

    /// # Safety
    /// What the header points to is readable.
    unsafe fn header(&mut self, header: &gtc_header) -> Answer<(String, Option<Bytes>)> {
        const NAME: &str = "name of a header";
        // SAFETY: as the caller promises.
        let name = unsafe { items(header.name.cast::<u8>(), header.name_length, NAME) }?;
        let name = std::str::from_utf8(name).map_err(|_| Failure::no_utf8(NAME))?;
        // SAFETY: as the caller promises.
        let value = unsafe { bytes(&header.value, "value of a header") }?;
        Ok((name.to_owned(), value.map(|value| self.bytes(value))))
    }

    fn topic(&mut self, topic: &str) -> Arc<str> {
        match &self.topic {
            Some(known) if **known == *topic => known.clone(),
            _ => self.topic.insert(Arc::from(topic)).clone(),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Bytes {
        self.buffer.extend_from_slice(bytes);
        self.buffer.split().freeze()
    }
}

/// Views of records that stay where they are.
pub(crate) fn consumed(records: &[ConsumedRecord], arena: &mut Arena) -> Vec<gtc_consumed_record> {
    let headers = records.iter().flat_map(|record| &record.headers);
    let headers = headers.map(|(name, value)| gtc_header {
        name: name.as_ptr().cast(),
        name_length: name.len(),
        value: gtc_bytes::of(value.as_deref()),
    });
    let mut headers = arena.list(headers.collect());
    let mut topic: (&str, *const c_char) = ("", ptr::null());
    let views = records.iter().map(|record| {
        if topic.1.is_null() || *topic.0 != *record.topic {
            topic = (&record.topic, arena.text(&record.topic));
        }
        let headers_length = record.headers.len();
        let own = headers;
        headers = headers.wrapping_add(headers_length);
        gtc_consumed_record {
            topic: topic.1,
            partition: record.partition,
            offset: record.offset,
            timestamp_ms: record.timestamp_ms.unwrap_or(GTC_TIMESTAMP_NONE),
            key: gtc_bytes::of(record.key.as_deref()),
            value: gtc_bytes::of(record.value.as_deref()),
            headers: if headers_length == 0 {
                ptr::null()
            } else {
                own
            },
            headers_length,
        }
    });
    views.collect()
}

/// The size of a transaction's id as text, with its NUL.
pub const GTC_TRANSACTION_ID_SIZE: usize = 32;

/// An id as text, in a structure of the caller's.
pub(crate) fn id_text(id: gtc::TransactionId) -> [c_char; GTC_TRANSACTION_ID_SIZE] {
    let mut text = [0; GTC_TRANSACTION_ID_SIZE];
    let digits = id.to_string();
    // The last place stays NUL.
    let places = text.iter_mut().take(GTC_TRANSACTION_ID_SIZE - 1);
    for (place, byte) in places.zip(digits.bytes()) {
        *place = byte.cast_signed();
    }
    text
}

/// The id of no transaction.
pub(crate) const NO_ID: [c_char; GTC_TRANSACTION_ID_SIZE] = [0; GTC_TRANSACTION_ID_SIZE];

/// Ids are short text of the caller's.
///
/// # Safety
/// It is NULL, or text that ends with a NUL.
pub(crate) unsafe fn id(pointer: *const c_char) -> Answer<gtc::TransactionId> {
    // SAFETY: as the caller promises.
    let text = unsafe { text(pointer, "id") }?;
    Ok(gtc::facade::transaction_id(text)?)
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_record_is_copied_with_all_that_kafka_can_tell_apart() {
        let name = "trace";
        let headers = [gtc_bytes::of(Some(b"1")), gtc_bytes::NONE].map(|value| gtc_header {
            name: name.as_ptr().cast(),
            name_length: name.len(),
            value,
        });
        let record = gtc_record {
            partition: 0,
            key: gtc_bytes::of(Some(b"")),
            headers: headers.as_ptr(),
            headers_length: headers.len(),
            ..gtc_record_to(c"orders".as_ptr())
        };
        // SAFETY: all of it is of this function.
        let made = unsafe { outgoing(&[record, gtc_record_to(c"orders".as_ptr())]) }.unwrap();
        let first = Record {
            partition: Some(0),
            key: Some(Bytes::new()),
            headers: vec![
                ("trace".to_owned(), Some(Bytes::from_static(b"1"))),
                ("trace".to_owned(), None),
            ],
            ..Record::to("orders")
        };
        assert_eq!(made, [first, Record::to("orders")]);
        assert!(Arc::ptr_eq(&made[0].topic, &made[1].topic));
    }

    #[test]
    fn the_longest_id_has_room() {
        let id: gtc::TransactionId = format!("{}-{}", u32::MAX, u64::MAX).parse().unwrap();
        let text = id_text(id);
        // SAFETY: it ends with a NUL, as it has room for one.
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        assert_eq!(text.to_str().unwrap(), id.to_string());
    }
}
