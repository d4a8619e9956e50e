//! The vocabulary as plain objects (feature `serde`): enums are told apart by a member that is named
//! after them, names are in kebab-case, durations are whole microseconds with names in `_us`, bytes
//! are hexadecimal, and what may be above 2^53 is a string. `vectors/README.md` lists all of it.

mod event;
mod read;
mod refusal;
mod take;
pub(crate) mod words;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use core::time::Duration;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::identity::{LogId, SlotId, TransactionId};
use crate::record::Record;

impl Serialize for TransactionId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for LogId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Only the form that is written, so that one log has one name.
fn log_id(text: &str) -> Option<LogId> {
    let id = u64::from_str_radix(text, 16).ok().map(LogId);
    id.filter(|id| id.to_string() == text)
}

/// One member.
fn member<S: Serializer, T: Serialize + ?Sized>(
    to: S,
    name: &'static str,
    value: &T,
) -> Result<S::Ok, S::Error> {
    let mut object = to.serialize_struct("member", 1)?;
    object.serialize_field(name, value)?;
    object.end()
}

pub(crate) fn transaction<S: Serializer>(id: &TransactionId, to: S) -> Result<S::Ok, S::Error> {
    member(to, "transaction", id)
}

pub(crate) fn slot<S: Serializer>(slot: &SlotId, to: S) -> Result<S::Ok, S::Error> {
    member(to, "slot", slot)
}

pub(crate) fn own<S: Serializer>(name: &str, to: S) -> Result<S::Ok, S::Error> {
    member(to, "transactional_id", name)
}

/// A text for people, as the member `detail`.
pub(crate) fn detail<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    member(to, "detail", text)
}

/// A Kafka error code, as the member `code`.
pub(crate) fn code<S: Serializer>(code: &i16, to: S) -> Result<S::Ok, S::Error> {
    member(to, "code", code)
}

/// A number that may be above 2^53, as a string.
pub(crate) fn decimal<S: Serializer>(number: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(number)
}

/// A duration in whole microseconds; what is longer than a number can say is the longest.
pub(crate) fn micros<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
}

/// As [`micros`], or null.
pub(crate) fn micros_option<S: Serializer>(
    span: &Option<Duration>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => micros(span, to),
        None => to.serialize_none(),
    }
}

/// Bytes as hexadecimal digits, or null.
pub(crate) fn hex<S: Serializer, B: AsRef<[u8]>>(
    bytes: &Option<B>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match bytes {
        Some(bytes) => to.serialize_str(&to_hex(bytes.as_ref())),
        None => to.serialize_none(),
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing into a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = core::str::from_utf8(pair).ok()?;
        let plain = pair.len() == 2 && !pair.starts_with('+');
        plain.then(|| u8::from_str_radix(pair, 16).ok())?
    });
    pairs.collect()
}

/// A record with its bytes beside its fields: the bytes are what the log keeps.
#[derive(serde::Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    record: &'a Record,
    hex: String,
}

pub(crate) fn records<S: Serializer>(records: &[Record], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(records.iter().map(|record| Written {
        record,
        hex: to_hex(&record.encode()),
    }))
}
