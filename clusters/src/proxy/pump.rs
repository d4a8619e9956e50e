//! The two threads of each connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::Arc;

use super::Direction;
use super::frame::{Answer, FrameHeader, Verdict};
use super::state::{Hold, Shared};

const BUFFER_BYTES: usize = 64 << 10;

/// Connects to the broker and forwards both ways until both sides are done.
pub(super) fn run_connection(shared: &Arc<Shared>, client: TcpStream, target: u16) {
    let Ok(pump) = open(shared, client, target) else {
        return;
    };
    std::thread::scope(|scope| {
        scope.spawn(|| pump.to_client());
        pump.to_broker();
    });
    shared.change(|state| state.cut(pump.connection));
}

fn open(shared: &Arc<Shared>, client: TcpStream, target: u16) -> io::Result<Pump> {
    let broker = TcpStream::connect((Ipv4Addr::LOCALHOST, target))?;
    // The proxy must not add the delay that is meant for small packets.
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    let ends = [client.try_clone()?, broker.try_clone()?];
    let connection = shared.change(|state| match state.closed {
        true => Err(io::Error::other("the proxy is over")),
        false => Ok(state.add_connection(ends)),
    })?;
    Ok(Pump {
        shared: Arc::clone(shared),
        connection,
        client,
        broker,
    })
}

struct Pump {
    shared: Arc<Shared>,
    connection: u64,
    client: TcpStream,
    broker: TcpStream,
}

impl Pump {
    fn to_broker(&self) {
        let result = match self.shared.rule {
            Some(_) => self.requests(),
            None => self.bytes(&self.client, &self.broker, Direction::ToBroker),
        };
        self.finish(result, &self.broker);
    }

    fn to_client(&self) {
        let result = match self.shared.rule {
            Some(_) => self.answers(),
            None => self.bytes(&self.broker, &self.client, Direction::ToClient),
        };
        self.finish(result, &self.client);
    }

    /// Passes the end of one side on to the other; after an error nothing useful can follow.
    fn finish(&self, result: io::Result<()>, to: &TcpStream) {
        match result {
            // Fails only where that side is closed already.
            Ok(()) => to.shutdown(Shutdown::Write).unwrap_or(()),
            Err(_) => self.shared.change(|state| state.cut(self.connection)),
        }
    }

    fn bytes(&self, mut from: &TcpStream, to: &TcpStream, direction: Direction) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = from.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            self.forward(&buffer[..count], to, direction)?;
        }
    }

    fn requests(&self) -> io::Result<()> {
        let mut client = &self.client;
        while let Some(frame) = FrameHeader::read(&mut client, self.connection)? {
            let verdict = self
                .shared
                .rule
                .as_ref()
                .map_or(Verdict::Forward, |rule| rule(&frame));
            match verdict {
                Verdict::Forward => {
                    self.forward(frame.bytes(), &self.broker, Direction::ToBroker)?;
                }
                Verdict::Hold => self.hold(frame)?,
                Verdict::Cut => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
        Ok(())
    }

    /// Keeps the frame until it is released, sends it, and waits for the answer: the end of a
    /// client that has given up must not reach the broker before that.
    fn hold(&self, frame: FrameHeader) -> io::Result<()> {
        let key = (self.connection, frame.correlation_id);
        let bytes = frame.bytes().to_vec();
        self.shared
            .change(|state| state.holds.insert(key, Hold::Waiting(frame)));
        let released = self.shared.wait(|state| match state.holds.get(&key) {
            Some(Hold::Waiting(_) | Hold::Taken) => None,
            hold => Some(hold.is_some()),
        });
        if !released {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.forward(&bytes, &self.broker, Direction::ToBroker)?;
        self.shared.wait(|state| match state.holds.get(&key) {
            Some(Hold::Released) if state.connections.contains_key(&self.connection) => None,
            _ => Some(()),
        });
        Ok(())
    }

    /// Reads on after the client has gone, as the answer to a released frame may be yet to come.
    fn answers(&self) -> io::Result<()> {
        let mut broker = &self.broker;
        let mut client_is_there = true;
        while let Some(answer) = Answer::read(&mut broker)? {
            let forwarded = !client_is_there
                || self
                    .forward(&answer.bytes, &self.client, Direction::ToClient)
                    .is_ok();
            client_is_there &= forwarded;
            self.note(answer);
        }
        Ok(())
    }

    fn note(&self, answer: Answer) {
        let key = (self.connection, answer.correlation_id);
        self.shared.change(|state| {
            state.holds.entry(key).and_modify(|hold| {
                *hold = Hold::Answered(answer.bytes[4..].to_vec());
            });
        });
    }

    /// Sends it after the delay, and not while this direction is a black hole.
    fn forward(&self, bytes: &[u8], mut to: &TcpStream, direction: Direction) -> io::Result<()> {
        let delay = self.shared.read(|state| state.delay);
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        let is_open = self.shared.wait(|state| {
            let hole = match direction {
                Direction::ToBroker => state.hole_to_broker,
                Direction::ToClient => state.hole_to_client,
                Direction::Both => state.hole_to_broker || state.hole_to_client,
            };
            let is_open = state.connections.contains_key(&self.connection);
            (!is_open || !hole).then_some(is_open)
        });
        if !is_open {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        to.write_all(bytes)
    }
}
