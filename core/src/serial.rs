//! The vocabulary as plain objects (feature `serde`): enums are told apart by a member that is named
//! after them, names are in kebab-case, durations are whole microseconds with names in `_us`, bytes
//! are hexadecimal, and what may be above 2^53 is a string. `vectors/README.md` lists all of it.

mod event;
mod refusal;
pub(crate) mod words;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use core::str::FromStr;
use core::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::identity::{LogId, SlotId, TransactionId};
use crate::record::Record;

impl Serialize for TransactionId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TransactionId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl Serialize for LogId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LogId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let id = u64::from_str_radix(&text, 16).ok().map(Self);
        // Only the form that is written, so that one log has one name.
        id.filter(|id| id.to_string() == text)
            .ok_or_else(|| D::Error::custom("a log id has 16 hexadecimal digits"))
    }
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
pub(crate) mod detail {
    use super::{Deserialize, Deserializer, Serializer, String, member};

    #[derive(serde::Deserialize)]
    struct Detail {
        detail: String,
    }

    pub(crate) fn serialize<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
        member(to, "detail", text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Detail::deserialize(from).map(|found| found.detail)
    }
}

/// A Kafka error code, as the member `code`.
pub(crate) mod code {
    use super::{Deserialize, Deserializer, Serializer, member};

    #[derive(serde::Deserialize)]
    struct Code {
        code: i16,
    }

    pub(crate) fn serialize<S: Serializer>(code: &i16, to: S) -> Result<S::Ok, S::Error> {
        member(to, "code", code)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i16, D::Error> {
        Code::deserialize(from).map(|found| found.code)
    }
}

/// A number that may be above 2^53, as a string.
pub(crate) mod decimal {
    use super::{Deserialize, Deserializer, Error, Serializer, String};

    pub(crate) fn serialize<S: Serializer>(number: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A duration in whole microseconds; what is longer than a number can say is the longest.
pub(crate) mod micros {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_micros)
    }
}

/// As [`micros`], or null.
pub(crate) mod micros_option {
    use super::{Deserialize, Deserializer, Duration, Serializer, micros};

    pub(crate) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => micros::serialize(span, to),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        let micros = Option::<u64>::deserialize(from)?;
        Ok(micros.map(Duration::from_micros))
    }
}

/// Bytes as hexadecimal digits, or null.
pub(crate) mod hex {
    use super::{Deserialize, Deserializer, Error, Serializer, String, Vec, from_hex, to_hex};

    pub(crate) fn serialize<S: Serializer, B: AsRef<[u8]>>(
        bytes: &Option<B>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => to.serialize_str(&to_hex(bytes.as_ref())),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let digits = Option::<String>::deserialize(from)?;
        digits
            .map(|digits| {
                from_hex(&digits).ok_or_else(|| D::Error::custom("no hexadecimal digits"))
            })
            .transpose()
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
