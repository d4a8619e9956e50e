//! JavaScript's values as Rust's, and back.

use std::time::Duration;

use bytes::Bytes;
use gtc::facade::transaction_id;
use gtc::{Error, TransactionId};
use napi::Status;
use napi::bindgen_prelude::{BigInt, BufferSlice, Either};

/// Bytes, or text that is written as UTF-8.
pub(crate) type Payload<'a> = Either<String, BufferSlice<'a>>;

/// A key, a value or a header's value. JavaScript may change its bytes at any time, and moves
/// them when it likes: this is the one copy on the way to the producer's queue.
pub(crate) fn payload(value: Option<Payload<'_>>) -> Option<Bytes> {
    value.map(|value| match value {
        Either::A(text) => Bytes::from(text),
        Either::B(bytes) => Bytes::copy_from_slice(&bytes),
    })
}

/// The application's key of a transaction.
pub(crate) fn key(value: Payload<'_>) -> Vec<u8> {
    match value {
        Either::A(text) => text.into_bytes(),
        Either::B(bytes) => bytes.to_vec(),
    }
}

/// A transaction id as a number: the incarnation stands above the 64 bits of the sequence, so
/// that a later transaction has a higher one.
pub(crate) fn id_out(id: TransactionId) -> BigInt {
    BigInt {
        sign_bit: false,
        words: vec![id.sequence, id.incarnation.0.into()],
    }
}

/// A transaction id from its number or its text. What no id has is refused as a text would be.
pub(crate) fn id_in(id: Either<BigInt, String>) -> Result<TransactionId, Error> {
    match id {
        Either::A(number) => match number.words[..] {
            [sequence] if !number.sign_bit => transaction_id(&format!("0-{sequence}")),
            [sequence, incarnation] if !number.sign_bit => {
                transaction_id(&format!("{incarnation}-{sequence}"))
            }
            _ => transaction_id(""),
        },
        Either::B(text) => transaction_id(&text),
    }
}

/// Milliseconds as a time.
pub(crate) fn milliseconds(value: Option<f64>) -> napi::Result<Option<Duration>> {
    let convert = |value: f64| {
        let time = Duration::try_from_secs_f64(value / 1000.0);
        time.map_err(|error| refused(&format!("{value} milliseconds: {error}")))
    };
    value.map(convert).transpose()
}

fn refused(why: &str) -> napi::Error {
    napi::Error::new(Status::InvalidArg, why)
}

/// A 64-bit offset.
pub(crate) fn offset_out(offset: i64) -> BigInt {
    BigInt {
        sign_bit: offset < 0,
        words: vec![offset.unsigned_abs()],
    }
}

/// A 64-bit offset.
pub(crate) fn offset_in(offset: &BigInt) -> napi::Result<i64> {
    let (value, lossless) = offset.get_i64();
    lossless
        .then_some(value)
        .ok_or_else(|| refused("an offset has 64 bits"))
}
