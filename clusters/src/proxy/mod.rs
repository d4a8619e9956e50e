//! A TCP proxy before a broker, for faults of the network.
//!
//! ```no_run
//! use gtc_clusters::{Cluster, ClusterOptions, Proxy};
//!
//! # fn main() -> gtc_clusters::Result<()> {
//! let proxy = Proxy::start()?;
//! let options = ClusterOptions::new("eu").advertised_port(proxy.port());
//! let cluster = Cluster::start(options)?;
//! proxy.forward_to(cluster.listen_port());
//! // Clients of cluster.bootstrap() now come through the proxy.
//! proxy.cut_all();
//! # Ok(())
//! # }
//! ```

mod frame;
mod held;
mod pump;
mod state;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Context, Result};

pub use frame::{FrameHeader, Verdict};
pub use held::HeldFrame;

use state::{Rule, Shared};

/// A way through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Direction {
    /// From clients to the broker.
    ToBroker,
    /// From the broker to clients.
    ToClient,
    /// Both ways.
    Both,
}

/// A proxy on a port of its own; dropping it cuts all connections.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy that forwards bytes and asks nobody; it works for encrypted connections too.
    pub fn start() -> Result<Self> {
        Self::listen(None)
    }

    /// Starts a proxy that shows the rule each request of a client before it forwards it. The rule
    /// is called from many threads, and must be quick. For plain listeners only.
    pub fn start_with_rule<F>(rule: F) -> Result<Self>
    where
        F: Fn(&FrameHeader) -> Verdict + Send + Sync + 'static,
    {
        Self::listen(Some(Box::new(rule)))
    }

    /// The port to which clients connect.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets the port of the broker; connections before that are refused.
    pub fn forward_to(&self, port: u16) {
        self.shared.change(|state| state.target = Some(port));
    }

    /// Cuts every connection and loses what it carries, held frames included. New ones are taken.
    pub fn cut_all(&self) {
        self.shared.cut_all();
    }

    /// Refuses new connections from now on, or takes them again.
    pub fn refuse_new(&self, refuse: bool) {
        self.shared.change(|state| state.refuse = refuse);
    }

    /// Forwards nothing in this direction until [`Self::heal`]; connections stay open, and what
    /// they carry is kept, as it is when packets get lost.
    pub fn black_hole(&self, direction: Direction) {
        self.shared.change(|state| {
            state.hole_to_broker |= direction != Direction::ToClient;
            state.hole_to_client |= direction != Direction::ToBroker;
        });
    }

    /// Forwards each piece of data so much later, in both directions.
    pub fn delay(&self, delay: Duration) {
        self.shared.change(|state| state.delay = delay);
    }

    /// Ends black hole, refusal and delay; held frames stay held.
    pub fn heal(&self) {
        self.shared.change(|state| {
            state.hole_to_broker = false;
            state.hole_to_client = false;
            state.refuse = false;
            state.delay = Duration::ZERO;
        });
    }

    /// The connections that are open now.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.read(|state| state.connections.len())
    }

    /// Waits until a frame is held that no earlier call has returned. A frame whose
    /// [`HeldFrame`] is dropped stays held until its connection is cut.
    #[must_use]
    pub fn await_held(&self, patience: Duration) -> Option<HeldFrame> {
        HeldFrame::await_next(&self.shared, patience)
    }

    fn listen(rule: Option<Rule>) -> Result<Self> {
        let remedy = "see whether this machine is out of ports";
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a proxy", remedy)?;
        let port = listener.local_addr().context("a proxy", remedy)?.port();
        let shared = Arc::new(Shared::new(rule));
        let acceptor = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || accept(&listener, &acceptor));
        Ok(Self {
            port,
            shared,
            acceptor: Some(acceptor),
        })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.close();
        // Wakes the acceptor, which then sees that it is over.
        let woken = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let (Ok(_), Some(acceptor)) = (woken, self.acceptor.take()) {
            // A panic of that thread has been printed; there is nobody to tell here.
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.read(|state| state.closed) {
            return;
        }
        let Ok(client) = client else { continue };
        let open = shared.read(|state| state.target.filter(|_| !state.refuse));
        let Some(target) = open else { continue };
        let shared = Arc::clone(shared);
        // Connecting may take long, and the next client must not wait for that.
        std::thread::spawn(move || pump::run_connection(&shared, client, target));
    }
}
