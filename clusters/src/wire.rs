//! The few Kafka requests by which a cluster is known to be healthy and is given its ACLs.
//!
//! The broker's INTERNAL listener takes them, in the old versions whose encoding is plain.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::acl::Acl;
use crate::config::{ADMIN, ADMIN_PASSWORD};
use crate::options::Security;

const METADATA: i16 = 3;
const SASL_HANDSHAKE: i16 = 17;
const CREATE_ACLS: i16 = 30;
const SASL_AUTHENTICATE: i16 = 36;

/// Far longer than any answer of a healthy broker takes, and how long a paused one is asked in
/// vain.
const PATIENCE: Duration = Duration::from_secs(3);
const LARGEST_ANSWER: usize = 16 << 20;

/// A connection of the super user.
pub(crate) struct Wire {
    stream: TcpStream,
}

impl Wire {
    pub(crate) fn connect(port: u16, security: Security) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut wire = Self { stream };
        if security == Security::Secure {
            wire.authenticate()?;
        }
        Ok(wire)
    }

    /// Whether the broker has joined its cluster and leads every partition.
    pub(crate) fn is_ready(&mut self) -> io::Result<bool> {
        let every_topic = (-1_i32).to_be_bytes();
        let mut answer = self.call((METADATA, 1), &every_topic)?;
        let brokers = answer.int()?;
        for _ in 0..brokers {
            answer.skip_broker()?;
        }
        let _controller = answer.int()?;
        let mut healthy = brokers > 0;
        for _ in 0..answer.int()? {
            healthy &= answer.topic_is_led()?;
        }
        Ok(healthy)
    }

    /// Adds all of them.
    pub(crate) fn create_acls(&mut self, acls: &[Acl]) -> io::Result<()> {
        let count = i32::try_from(acls.len()).map_err(io::Error::other)?;
        let mut body = count.to_be_bytes().to_vec();
        for acl in acls {
            acl.encode(&mut body);
        }
        let mut answer = self.call((CREATE_ACLS, 1), &body)?;
        let _throttle_time_ms = answer.int()?;
        for _ in 0..answer.int()? {
            let code = answer.short()?;
            let message = answer.text()?;
            refuse("CreateAcls", code, &message)?;
        }
        Ok(())
    }

    fn authenticate(&mut self) -> io::Result<()> {
        let mut mechanism = Vec::new();
        put_text(&mut mechanism, "PLAIN");
        let code = self.call((SASL_HANDSHAKE, 1), &mechanism)?.short()?;
        refuse("SaslHandshake", code, "")?;
        let token = format!("\0{ADMIN}\0{ADMIN_PASSWORD}");
        let length = i32::try_from(token.len()).map_err(io::Error::other)?;
        let mut body = length.to_be_bytes().to_vec();
        body.extend_from_slice(token.as_bytes());
        let mut answer = self.call((SASL_AUTHENTICATE, 0), &body)?;
        let code = answer.short()?;
        refuse("SaslAuthenticate", code, &answer.text()?)
    }

    /// Sends one request with a version 1 header and returns the body of its answer.
    fn call(&mut self, (key, version): (i16, i16), body: &[u8]) -> io::Result<Answer> {
        let mut request = Vec::new();
        request.extend_from_slice(&key.to_be_bytes());
        request.extend_from_slice(&version.to_be_bytes());
        request.extend_from_slice(&1_i32.to_be_bytes());
        put_text(&mut request, "gtc-clusters");
        request.extend_from_slice(body);
        let size = u32::try_from(request.len()).map_err(io::Error::other)?;
        self.stream
            .write_all(&[&size.to_be_bytes()[..], &request].concat())?;
        let mut size = [0; 4];
        self.stream.read_exact(&mut size)?;
        let size = u32::from_be_bytes(size) as usize;
        if size > LARGEST_ANSWER {
            return Err(io::Error::other("the answer is no Kafka answer"));
        }
        let mut bytes = vec![0; size];
        self.stream.read_exact(&mut bytes)?;
        let mut answer = Answer { bytes, at: 0 };
        let _correlation_id = answer.int()?;
        Ok(answer)
    }
}

fn refuse(request: &str, code: i16, message: &str) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::other(format!(
            "{request} was answered by {code} {message}"
        ))),
    }
}

/// Appends a text with its length.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    let length = i16::try_from(text.len()).unwrap_or(i16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&text.as_bytes()[..usize::from(length.unsigned_abs())]);
}

/// The answer to a request, read from front to back.
struct Answer {
    bytes: Vec<u8>,
    at: usize,
}

impl Answer {
    fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        let end = self.at.saturating_add(count);
        let part = self
            .bytes
            .get(self.at..end)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        self.at = end;
        Ok(part)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.take(N)?.try_into().map_err(io::Error::other)
    }

    fn int(&mut self) -> io::Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    fn short(&mut self) -> io::Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// A text; null is read as empty.
    fn text(&mut self) -> io::Result<String> {
        let length = usize::try_from(self.short()?).unwrap_or(0);
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn skip_broker(&mut self) -> io::Result<()> {
        let _node_id = self.int()?;
        self.text()?;
        let _port = self.int()?;
        self.text()?;
        Ok(())
    }

    fn topic_is_led(&mut self) -> io::Result<bool> {
        let mut led = self.short()? == 0;
        self.text()?;
        let _is_internal: [u8; 1] = self.array()?;
        for _ in 0..self.int()? {
            led &= self.short()? == 0;
            let _index = self.int()?;
            led &= self.int()? >= 0;
            for _replicas_then_in_sync in 0..2 {
                let count = usize::try_from(self.int()?).unwrap_or(0);
                self.take(count.saturating_mul(4))?;
            }
        }
        Ok(led)
    }
}
