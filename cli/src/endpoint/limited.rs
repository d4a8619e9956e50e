//! What the clients of the endpoint may hold: so many connections, and each for a while without a request.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// How many connections there are at once; more wait until one ends.
const CONNECTIONS_MAX: usize = 64;
/// How long a request may take to arrive, from the start or from the answer before, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// A listener that keeps to these limits.
pub(super) struct Limited {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl Limited {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            room: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        }
    }
}

impl Listener for Limited {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        // Nobody closes the semaphore, so that this is always a permit.
        let permit = self.room.clone().acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let connection = Connection {
            stream,
            late: Box::pin(sleep(PATIENCE)),
            _permit: permit,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends with an error once its client lets it wait.
pub(super) struct Connection {
    stream: TcpStream,
    late: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        ready!(self.late.as_mut().poll(context));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Before anything is read: a request that comes byte by byte is late as well.
        if let Poll::Ready(error) = self.poll_late(context) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending => self.poll_late(context).map(Err),
            written => {
                self.late.as_mut().reset(Instant::now() + PATIENCE);
                written
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    use super::*;

    const ENOUGH: Duration = Duration::from_secs(60);

    async fn serve() -> (SocketAddr, Arc<Semaphore>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let limited = Limited::new(listener);
        let (address, room) = (limited.local_addr().unwrap(), limited.room.clone());
        let router = Router::new().route("/health", get(async || "well"));
        tokio::spawn(async move { axum::serve(limited, router).await });
        (address, room)
    }

    /// What comes until the connection ends.
    async fn rest(stream: &mut TcpStream) -> String {
        let mut rest = Vec::new();
        let read = timeout(ENOUGH, stream.read_to_end(&mut rest)).await;
        // A connection that ends with bytes unread may end with a reset.
        let _ = read.expect("it is held for ever");
        String::from_utf8(rest).unwrap()
    }

    async fn ask(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = b"GET /health HTTP/1.1\r\nHost: gtc\r\n\r\n";
        stream.write_all(request).await.unwrap();
        rest(&mut stream).await
    }

    #[tokio::test]
    async fn half_a_request_is_not_waited_for_for_ever() {
        let (address, _) = serve().await;
        for part in ["", "GET /hea"] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(part.as_bytes()).await.unwrap();
            assert!(!rest(&mut stream).await.contains("200 OK"));
        }
        // A whole one is answered, and the connection kept for a while.
        let answer = ask(address).await;
        assert!(
            answer.contains("200 OK") && answer.ends_with("well"),
            "{answer}"
        );
    }

    #[tokio::test]
    async fn who_asks_nothing_makes_room_for_who_asks() {
        let (address, room) = serve().await;
        let mut crowd = Vec::new();
        for _ in 0..2 * CONNECTIONS_MAX {
            crowd.push(TcpStream::connect(address).await.unwrap());
        }
        let full = async {
            while room.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(ENOUGH, full).await.expect("not all are connected");
        let answer = ask(address).await;
        assert!(answer.contains("200 OK"), "{answer}");
        for stream in &mut crowd {
            assert_eq!(rest(stream).await, "");
        }
    }
}
