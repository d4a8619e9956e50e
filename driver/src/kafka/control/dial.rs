//! How a stream to a broker is made: TCP and TLS, or in memory.

use std::net::SocketAddr;

use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;

use super::connection::Stream;
use super::error::Failure;
use super::wire::io_failure;
use crate::kafka::properties::{AddressFamily, Endpoint};

/// What stands in for the network.
#[cfg(feature = "fuzzing")]
type MakeStream = Box<dyn Fn(&Endpoint) -> Box<dyn Stream> + Send + Sync>;

/// Makes the streams of one client.
pub(super) enum Dialer {
    /// TCP, with TLS where a connector is given.
    Network(Option<TlsConnector>),
    /// Whatever a harness puts at the other end.
    #[cfg(feature = "fuzzing")]
    Memory(MakeStream),
}

impl Dialer {
    pub(super) async fn dial(
        &self,
        endpoint: &Endpoint,
        family: AddressFamily,
    ) -> Result<Box<dyn Stream>, Failure> {
        match self {
            Self::Network(tls) => {
                let stream = connect(endpoint, family).await?;
                secure(stream, endpoint, tls.as_ref()).await
            }
            #[cfg(feature = "fuzzing")]
            Self::Memory(make) => Ok(make(endpoint)),
        }
    }
}

async fn connect(endpoint: &Endpoint, family: AddressFamily) -> Result<TcpStream, Failure> {
    let addresses = lookup_host((endpoint.host.as_str(), endpoint.port))
        .await
        .map_err(|error| Failure::unavailable(format!("the name cannot be resolved: {error}")))?;
    let mut failure = Failure::unavailable("the name has no address of broker.address.family");
    for address in addresses.filter(|address| is_of(address, family)) {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // A control request is small and waits for its answer.
                stream
                    .set_nodelay(true)
                    .map_err(|error| io_failure(&error))?;
                return Ok(stream);
            }
            Err(error) => failure = io_failure(&error),
        }
    }
    Err(failure)
}

fn is_of(address: &SocketAddr, family: AddressFamily) -> bool {
    match family {
        AddressFamily::Any => true,
        AddressFamily::V4 => address.is_ipv4(),
        AddressFamily::V6 => address.is_ipv6(),
    }
}

async fn secure(
    stream: TcpStream,
    endpoint: &Endpoint,
    tls: Option<&TlsConnector>,
) -> Result<Box<dyn Stream>, Failure> {
    let Some(connector) = tls else {
        return Ok(Box::new(stream));
    };
    let name = ServerName::try_from(endpoint.host.clone())
        .map_err(|_| Failure::config("the host is no name that a certificate can hold"))?;
    let stream = connector
        .connect(name, stream)
        .await
        .map_err(|error| io_failure(&error))?;
    Ok(Box::new(stream))
}
