//! Opening a connection over TCP, with TLS or without.
//!
//! # Not here
//! Pooling and HTTP itself: the parent module.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Host and port to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// True if the connection is to be encrypted.
    pub https: bool,
    /// Name or address of the server.
    pub host: String,
    /// Port; from the URL, or 443 and 80 by scheme.
    pub port: u16,
}

/// A connection: bytes both ways.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// Future of a connection.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Connection>>> + Send>>;

/// Opens connections. Another one than [`TcpConnector`] lets a client talk to a server in the same
/// process, or through a proxy.
pub trait Connector: fmt::Debug + Send + Sync {
    /// Opens one connection; the client's `connect` timeout limits it.
    fn connect(&self, origin: &Origin) -> Connecting;
}

/// Connections over TCP, with TLS for https.
#[derive(Clone, Debug, Default)]
pub struct TcpConnector {
    #[cfg(feature = "tls")]
    tls: Option<super::tls::Tls>,
}

impl TcpConnector {
    /// A connector for an origin. Reads the system's certificates when it is to be encrypted.
    ///
    /// # Errors
    /// When https is asked for and this build or this system cannot do it.
    pub fn for_origin(origin: &Origin) -> Result<Self, crate::error::SetupError> {
        #[cfg(feature = "tls")]
        return Ok(Self {
            tls: origin.https.then(super::tls::Tls::new).transpose()?,
        });
        #[cfg(not(feature = "tls"))]
        if origin.https {
            Err(crate::error::SetupError::NoTls)
        } else {
            Ok(Self::default())
        }
    }
}

impl TcpConnector {
    /// Opens a connection to an address of the origin that the caller has resolved and judged:
    /// a name that is resolved again could lead somewhere else.
    pub(crate) fn connect_to(&self, origin: &Origin, address: SocketAddr) -> Connecting {
        self.dial(origin, move || TcpStream::connect(address))
    }

    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unused_self, reason = "certificates are part of it with TLS")
    )]
    pub(super) fn dial<D>(
        &self,
        origin: &Origin,
        dial: impl FnOnce() -> D + Send + 'static,
    ) -> Connecting
    where
        D: Future<Output = io::Result<TcpStream>> + Send,
    {
        let https = origin.https;
        #[cfg(feature = "tls")]
        let (tls, host) = (self.tls.clone(), origin.host.clone());
        Box::pin(async move {
            let stream = dial().await?;
            // Requests are written in one go; waiting for more bytes (Nagle) would only cost time.
            stream.set_nodelay(true)?;
            if !https {
                return Ok(Box::new(stream) as Box<dyn Connection>);
            }
            #[cfg(feature = "tls")]
            if let Some(tls) = tls {
                return tls.wrap(&host, stream).await;
            }
            // A connector made for another origin has no certificates loaded.
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the connector was not made for https",
            ))
        })
    }
}

impl Connector for TcpConnector {
    fn connect(&self, origin: &Origin) -> Connecting {
        let (host, port) = (origin.host.clone(), origin.port);
        self.dial(origin, move || async move {
            TcpStream::connect((host.as_str(), port)).await
        })
    }
}
