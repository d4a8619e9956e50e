//! Kafka's framing, as far as a proxy needs it.

use std::io::{self, Read};

const LARGEST_FRAME: usize = 128 << 20;

/// What to do with a client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Let it through.
    Forward,
    /// Keep it, and with it all that follows on the same connection, until it is released. The
    /// broker's side of the connection stays open even when the client gives up.
    Hold,
    /// Cut the connection before the broker sees the request.
    Cut,
}

/// What is known of a client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameHeader {
    /// The connection it came on; they are counted from 1.
    pub connection: u64,
    /// Which request: 26 is EndTxn, for one.
    pub api_key: i16,
    /// The request's version.
    pub api_version: i16,
    /// The number that its answer repeats.
    pub correlation_id: i32,
    /// The client's name for itself.
    pub client_id: String,
    bytes: Vec<u8>,
}

impl FrameHeader {
    /// Whether the request contains this text, such as a transactional.id or the name of a topic.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        !text.is_empty()
            && self
                .bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
    }

    /// Reads one frame; `None` where the stream ends before it.
    pub(super) fn read(stream: &mut impl Read, connection: u64) -> io::Result<Option<Self>> {
        let Some(bytes) = read_frame(stream)? else {
            return Ok(None);
        };
        let short = |at: usize| Some(i16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let header = || {
            let name_length = usize::try_from(short(12)?).unwrap_or(0);
            Some((
                short(4)?,
                short(6)?,
                correlation_id_at(&bytes, 8)?,
                bytes.get(14..14 + name_length)?,
            ))
        };
        let (api_key, api_version, correlation_id, name) =
            header().ok_or_else(|| io::Error::other("a frame that is no Kafka request"))?;
        let client_id = String::from_utf8_lossy(name).into_owned();
        Ok(Some(Self {
            connection,
            api_key,
            api_version,
            correlation_id,
            client_id,
            bytes,
        }))
    }

    /// The frame as it came, with its size.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// An answer of the broker.
pub(super) struct Answer {
    pub(super) correlation_id: i32,
    /// The frame as it came, with its size.
    pub(super) bytes: Vec<u8>,
}

impl Answer {
    /// Reads one answer; `None` where the stream ends before it.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(bytes) = read_frame(stream)? else {
            return Ok(None);
        };
        let correlation_id = correlation_id_at(&bytes, 4)
            .ok_or_else(|| io::Error::other("a frame that is no Kafka answer"))?;
        Ok(Some(Self {
            correlation_id,
            bytes,
        }))
    }
}

fn correlation_id_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A frame with its size in front.
fn read_frame(stream: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut size = [0; 4];
    match stream.read_exact(&mut size) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = u32::from_be_bytes(size) as usize;
    if length > LARGEST_FRAME {
        return Err(io::Error::other("a frame of more than 128 MiB"));
    }
    let mut bytes = vec![0; 4 + length];
    bytes[..4].copy_from_slice(&size);
    stream.read_exact(&mut bytes[4..])?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &[u8]) -> Vec<u8> {
        let mut frame = vec![0, 26, 0, 1, 0, 0, 0, 9, 0, 3, b'm', b'e', b'!'];
        frame.extend_from_slice(body);
        let size = u32::try_from(frame.len()).unwrap().to_be_bytes();
        [&size[..], &frame].concat()
    }

    #[test]
    fn a_request_is_read_with_its_header_and_text() {
        let bytes = request(b"gtc.slot.1");
        let frame = FrameHeader::read(&mut &bytes[..], 7).unwrap().unwrap();
        assert_eq!(
            (frame.connection, frame.api_key, frame.api_version),
            (7, 26, 1)
        );
        assert_eq!((frame.correlation_id, frame.client_id.as_str()), (9, "me!"));
        assert!(frame.mentions("slot.1") && !frame.mentions("slot.2"));
        assert_eq!(frame.bytes(), bytes);
    }

    #[test]
    fn a_stream_may_end_between_frames_but_not_within() {
        let bytes = request(b"x");
        assert!(FrameHeader::read(&mut &b""[..], 1).unwrap().is_none());
        FrameHeader::read(&mut &bytes[..bytes.len() - 1], 1).unwrap_err();
        FrameHeader::read(&mut &[0, 0, 0, 2, 0, 26][..], 1).unwrap_err();
        FrameHeader::read(&mut &[0xff; 64][..], 1).unwrap_err();
    }
}
