//! A plain connection to a broker: one request, one answer, in versions that the caller names.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion};

const PATIENCE: Duration = Duration::from_secs(20);

/// A connection to a broker.
pub struct Connection {
    stream: TcpStream,
    correlation: i32,
}

impl Connection {
    /// Connects.
    pub fn open(bootstrap: &str) -> Self {
        let stream = TcpStream::connect(bootstrap).expect("the broker accepts connections");
        stream.set_nodelay(true).expect("an option of the socket");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("an option of the socket");
        Self {
            stream,
            correlation: 0,
        }
    }

    /// Sends a request and awaits its answer.
    pub fn ask<Q, A>(&mut self, key: ApiKey, version: i16, request: &Q) -> A
    where
        Q: Encodable + HeaderVersion,
        A: Decodable + HeaderVersion,
    {
        self.send(key, version, request);
        self.receive(version)
    }

    /// Sends a request without awaiting its answer.
    pub fn send<Q>(&mut self, key: ApiKey, version: i16, request: &Q)
    where
        Q: Encodable + HeaderVersion,
    {
        self.correlation += 1;
        let header = RequestHeader::default()
            .with_request_api_key(key as i16)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation);
        let mut body = BytesMut::new();
        header
            .encode(&mut body, Q::header_version(version))
            .expect("a header");
        request.encode(&mut body, version).expect("a request");
        let length = i32::try_from(body.len()).expect("a short request");
        let mut frame = length.to_be_bytes().to_vec();
        frame.extend_from_slice(&body);
        self.stream.write_all(&frame).expect("the broker listens");
    }

    /// Awaits the next answer.
    pub fn receive<A: Decodable + HeaderVersion>(&mut self, version: i16) -> A {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).expect("an answer");
        let length = usize::try_from(i32::from_be_bytes(length)).expect("a length");
        let mut frame = vec![0; length];
        self.stream.read_exact(&mut frame).expect("a whole answer");
        let mut frame = Bytes::from(frame);
        ResponseHeader::decode(&mut frame, A::header_version(version)).expect("a header");
        A::decode(&mut frame, version).expect("an answer of this version")
    }
}
