//! Frames of the Kafka protocol, and a decoder that an ill-meaning peer cannot hurt.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut, TryGetError};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, DescribeConfigsRequest,
    DescribeConfigsResponse, DescribeTransactionsRequest, DescribeTransactionsResponse,
    EndTxnRequest, EndTxnResponse, FindCoordinatorRequest, FindCoordinatorResponse,
    InitProducerIdRequest, InitProducerIdResponse, LeaveGroupRequest, LeaveGroupResponse,
    ListOffsetsRequest, ListOffsetsResponse, ListTransactionsRequest, ListTransactionsResponse,
    MetadataRequest, MetadataResponse, RequestHeader, ResponseHeader, SaslAuthenticateRequest,
    SaslAuthenticateResponse,
};
use kafka_protocol::protocol::buf::ByteBuf;
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::error::Failure;

/// The largest answer that is read. The listing of a cluster with a hundred thousand
/// transactional.ids stays below it.
pub(super) const MAX_FRAME_BYTES: usize = 16 << 20;
/// The largest count or length inside an answer.
const MAX_COUNT: u64 = 1_000_000;
/// Numbers up to this one may exceed what is left of a frame: tags are no lengths.
const HARMLESS_COUNT: u64 = 1024;
/// A varint of 32 bits has five bytes at most.
const MAX_VARINT_BYTES: u32 = 5;
/// Where the correlation id stands in an encoded request: after its length, key and version.
const CORRELATION_AT: usize = 8;

/// A request that the client sends, the answer to it, and the versions that it speaks.
///
/// Only versions whose answers have compact lengths are spoken, because [`Guarded`] can check
/// those.
pub(super) trait Call: Encodable + HeaderVersion {
    type Response: Decodable + HeaderVersion;
    const KEY: ApiKey;
    const NAME: &'static str;
    const VERSIONS: Versions;
}

/// A range of versions, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) min: i16,
    pub(super) max: i16,
}

impl Versions {
    /// The newest version that both ranges have.
    pub(super) fn newest_common(self, other: Self) -> Option<i16> {
        let newest = self.max.min(other.max);
        (newest >= self.min.max(other.min)).then_some(newest)
    }
}

macro_rules! calls {
    ($($request:ident, $response:ident, $key:ident, $min:literal..=$max:literal;)*) => {
        $(impl Call for $request {
            type Response = $response;
            const KEY: ApiKey = ApiKey::$key;
            const NAME: &'static str = stringify!($key);
            const VERSIONS: Versions = Versions { min: $min, max: $max };
        })*
    };
}

calls! {
    ApiVersionsRequest, ApiVersionsResponse, ApiVersions, 3..=3;
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslAuthenticate, 2..=2;
    MetadataRequest, MetadataResponse, Metadata, 10..=13;
    FindCoordinatorRequest, FindCoordinatorResponse, FindCoordinator, 4..=6;
    EndTxnRequest, EndTxnResponse, EndTxn, 3..=5;
    InitProducerIdRequest, InitProducerIdResponse, InitProducerId, 3..=5;
    DescribeTransactionsRequest, DescribeTransactionsResponse, DescribeTransactions, 0..=0;
    ListTransactionsRequest, ListTransactionsResponse, ListTransactions, 0..=1;
    DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigs, 4..=4;
    ListOffsetsRequest, ListOffsetsResponse, ListOffsets, 6..=10;
    LeaveGroupRequest, LeaveGroupResponse, LeaveGroup, 4..=5;
}

/// Encodes a request with its length; the correlation id is set by [`set_correlation_id`].
pub(super) fn encode_request<R: Encodable + HeaderVersion>(
    key: ApiKey,
    version: i16,
    client_id: &str,
    request: &R,
) -> Result<BytesMut, Failure> {
    let header = RequestHeader::default()
        .with_request_api_key(key as i16)
        .with_request_api_version(version)
        .with_client_id(Some(StrBytes::from_string(client_id.to_owned())));
    let mut frame = BytesMut::new();
    frame.put_i32(0);
    header
        .encode(&mut frame, R::header_version(version))
        .and_then(|()| request.encode(&mut frame, version))
        .map_err(|error| Failure::config(format!("the request cannot be encoded: {error}")))?;
    let length = i32::try_from(frame.len() - 4)
        .map_err(|_| Failure::config("the request is longer than the protocol allows"))?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

/// Writes the correlation id into an encoded request.
pub(super) fn set_correlation_id(frame: &mut BytesMut, id: i32) {
    frame[CORRELATION_AT..CORRELATION_AT + 4].copy_from_slice(&id.to_be_bytes());
}

/// Decodes an answer, header included.
pub(super) fn decode_response<R: Decodable + HeaderVersion>(
    frame: Bytes,
    version: i16,
) -> Result<R, Failure> {
    let mut buffer = Guarded::new(frame);
    ResponseHeader::decode(&mut buffer, R::header_version(version))
        .and_then(|_| R::decode(&mut buffer, version))
        .map_err(|error| Failure::protocol(format!("the answer cannot be decoded: {error}")))
        .and_then(|response| match buffer.remaining() {
            0 => Ok(response),
            extra => Err(Failure::protocol(format!(
                "the answer has {extra} bytes too many"
            ))),
        })
}

/// Collects whole frames from a stream. Safe to cancel: what was read stays in the buffer.
#[derive(Default)]
pub(super) struct FrameReader {
    buffer: BytesMut,
}

impl FrameReader {
    /// Reads one frame without its length.
    pub(super) async fn read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
    ) -> Result<Bytes, Failure> {
        loop {
            if let Some(frame) = self.take_frame()? {
                return Ok(frame);
            }
            // The buffer grows with what has arrived, never with what a length announces.
            let read = stream
                .read_buf(&mut self.buffer)
                .await
                .map_err(|e| io_failure(&e))?;
            if read == 0 {
                return Err(Failure::unavailable("the broker closed the connection"));
            }
        }
    }

    fn take_frame(&mut self) -> Result<Option<Bytes>, Failure> {
        let Some(length) = self.buffer.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*length);
        let length = usize::try_from(length)
            .ok()
            .filter(|length| (4..=MAX_FRAME_BYTES).contains(length))
            .ok_or_else(|| Failure::protocol(format!("an answer of {length} bytes is refused")))?;
        if self.buffer.len() < 4 + length {
            return Ok(None);
        }
        self.buffer.advance(4);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }
}

/// A broken stream; one that TLS broke is a matter of trust and not of availability.
pub(super) fn io_failure(error: &io::Error) -> Failure {
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        Some(rustls::Error::InvalidMessage(_)) => {
            Failure::protocol("what comes from the address is not TLS")
        }
        Some(tls) => Failure::authentication(format!("TLS: {tls}")),
        None => Failure::unavailable(error.to_string()),
    }
}

/// A buffer that refuses counts which the rest of the frame cannot hold.
///
/// The decoder reserves memory for an array before it reads the elements, so that a count of four
/// thousand million in a frame of ten bytes would end the process. Every length of a compact
/// version is a varint, read byte by byte. A boolean is read in the same way, and a false one may
/// run into the varint after it; the sum over both is never less than the varint itself, so that
/// nothing slips through.
struct Guarded {
    bytes: Bytes,
    varint: u64,
    varint_bytes: u32,
}

impl Guarded {
    fn new(bytes: Bytes) -> Self {
        Self {
            bytes,
            varint: 0,
            varint_bytes: 0,
        }
    }

    fn refusal(&self, requested: u64) -> TryGetError {
        TryGetError {
            requested: usize::try_from(requested).unwrap_or(usize::MAX),
            available: self.bytes.len(),
        }
    }

    fn check(&mut self, byte: u8) -> Result<(), TryGetError> {
        self.varint |= u64::from(byte & 0x7f) << (7 * self.varint_bytes);
        self.varint_bytes += 1;
        if byte >= 0x80 {
            return match self.varint_bytes {
                MAX_VARINT_BYTES => Err(self.refusal(self.varint)),
                _ => Ok(()),
            };
        }
        let count = std::mem::take(&mut self.varint);
        self.varint_bytes = 0;
        let left = self.bytes.len() as u64 + 1;
        if count > MAX_COUNT || count > left.max(HARMLESS_COUNT) {
            return Err(self.refusal(count));
        }
        Ok(())
    }
}

impl Buf for Guarded {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }

    fn try_get_u8(&mut self) -> Result<u8, TryGetError> {
        let byte = self.bytes.try_get_u8()?;
        self.check(byte)?;
        Ok(byte)
    }
}

impl ByteBuf for Guarded {
    fn peek_bytes(&mut self, range: std::ops::Range<usize>) -> Bytes {
        self.bytes.peek_bytes(range)
    }

    fn get_bytes(&mut self, size: usize) -> Bytes {
        self.bytes.get_bytes(size)
    }
}

#[cfg(test)]
mod tests;
