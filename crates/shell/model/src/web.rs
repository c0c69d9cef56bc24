//! One page of the web, asked for once.
//!
//! # Model
//! A name is resolved, every address it has is judged, and the connection goes to an address that was
//! judged: a name that answers differently the second time leads nowhere. Time and bytes are bounded.
//! [`WebNetwork`] is the port to names and connections; tests bring their own.
//!
//! # Not here
//! Redirects, caching, Markdown: `dormouse-tools`. Providers of models: the rest of this crate, whose
//! addresses the user sets and which may well be this machine.

use crate::error::SetupError;
use crate::http::{Connecting, Origin, TcpConnector};
use bytes::Bytes;
use dormouse_guard::addresses;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Future of a name's addresses.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Names and connections of the network.
pub trait WebNetwork: fmt::Debug + Send + Sync {
    /// Addresses of a host, as a connection to it would use them.
    fn resolve(&self, host: &str, port: u16) -> Resolving;

    /// Opens a connection to one of the addresses, encrypted if the origin says so.
    fn dial(&self, origin: &Origin, address: SocketAddr) -> Connecting;
}

/// Network of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNetwork;

impl WebNetwork for SystemNetwork {
    fn resolve(&self, host: &str, port: u16) -> Resolving {
        let host = host.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }

    fn dial(&self, origin: &Origin, address: SocketAddr) -> Connecting {
        match TcpConnector::for_origin(origin) {
            Ok(connector) => connector.connect_to(origin, address),
            Err(error) => Box::pin(std::future::ready(Err(io::Error::other(error)))),
        }
    }
}

/// Bounds of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// Bytes of the body that are read; the rest is left.
    pub bytes: usize,
    /// Time from the first look at the name to the last byte.
    pub time: Duration,
}

/// Reply of a server, redirects and errors included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Status of the reply.
    pub status: u16,
    /// Its `content-type`, if it has one.
    pub content_type: Option<String>,
    /// Its `location`, if it has one.
    pub location: Option<String>,
    /// Bytes of the body, as far as the limit goes.
    pub body: Bytes,
    /// True if the body was longer than the limit.
    pub cut: bool,
}

/// Reason why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The address is none of the web.
    #[error("`{0}` is no address of a web page")]
    BadUrl(String),
    /// The name leads to an address that is not public.
    #[error("`{host}` leads to {address}, {why}")]
    NotPublic {
        /// Name as it stands in the address.
        host: String,
        /// First address of it that is refused.
        address: IpAddr,
        /// Kind of address it is.
        why: &'static str,
    },
    /// The name has no address.
    #[error("`{host}` cannot be found")]
    Unknown {
        /// Name as it stands in the address.
        host: String,
        /// Report of the resolver, if it made one.
        #[source]
        source: Option<io::Error>,
    },
    /// No connection came about.
    #[error("`{host}` cannot be reached")]
    Unreachable {
        /// Name as it stands in the address.
        host: String,
        /// Report of the system.
        #[source]
        source: io::Error,
    },
    /// The server broke off or spoke no HTTP.
    #[error("`{host}` did not answer as a web server does")]
    Broke {
        /// Name as it stands in the address.
        host: String,
        /// Report of the protocol.
        #[source]
        source: hyper::Error,
    },
    /// It took too long.
    #[error("`{host}` took longer than {} seconds", .limit.as_secs())]
    TooSlow {
        /// Name as it stands in the address.
        host: String,
        /// Time that it had.
        limit: Duration,
    },
    /// No runtime could be made to wait with.
    #[error("the network cannot be used")]
    Runtime(#[source] io::Error),
}

impl From<SetupError> for WebError {
    fn from(error: SetupError) -> Self {
        Self::Runtime(io::Error::other(error))
    }
}

/// Asks for a page once, and waits for it on this thread.
///
/// # Errors
/// When the address is bad, leads to a private network, or does not answer in time.
pub fn page(
    network: &Arc<dyn WebNetwork>,
    url: &Uri,
    limits: PageLimits,
) -> Result<Page, WebError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(WebError::Runtime)?;
    let host = url.host().unwrap_or_default().to_owned();
    let limit = limits.time;
    let asked = runtime
        .block_on(async { tokio::time::timeout(limit, ask(network, url, limits.bytes)).await });
    // Without waiting: a resolver of the system may hang on its thread for longer.
    runtime.shutdown_background();
    asked.unwrap_or(Err(WebError::TooSlow { host, limit }))
}

async fn ask(network: &Arc<dyn WebNetwork>, url: &Uri, most: usize) -> Result<Page, WebError> {
    let bad = || WebError::BadUrl(url.to_string());
    let https = match url.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(bad()),
    };
    let authority = url.authority().ok_or_else(bad)?;
    // A name and password would be sent to a host that the page chose.
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return Err(bad());
    }
    // IPv6 addresses stand in brackets in a URL, but not when they are dialled.
    let host = authority.host().trim_matches(['[', ']']).to_owned();
    let port = authority.port_u16().unwrap_or(if https { 443 } else { 80 });
    let origin = Origin { https, host, port };
    let address = judged(network, &origin).await?;
    let host = || origin.host.clone();
    let dialled = network.dial(&origin, address).await;
    let connection = dialled.map_err(|source| WebError::Unreachable {
        host: host(),
        source,
    })?;
    let broke = |source| WebError::Broke {
        host: host(),
        source,
    };
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(header::HOST, authority.as_str())
        .header(
            header::USER_AGENT,
            concat!("dormouse/", env!("CARGO_PKG_VERSION")),
        )
        .header(
            header::ACCEPT,
            "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
        )
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|_| bad())?;
    let (mut sender, driver) = http1::handshake(TokioIo::new(connection))
        .await
        .map_err(broke)?;
    // Ended with the runtime, which lives for this page only.
    tokio::spawn(async move { driver.await.ok() });
    let response = sender.send_request(request).await.map_err(broke)?;
    let (head, mut incoming) = response.into_parts();
    let mut body = Vec::new();
    let mut cut = false;
    while let Some(frame) = incoming.frame().await {
        let Ok(data) = frame.map_err(broke)?.into_data() else {
            continue;
        };
        let room = most - body.len();
        cut = data.len() > room;
        body.extend_from_slice(&data[..data.len().min(room)]);
        if cut {
            break;
        }
    }
    Ok(Page {
        status: head.status.as_u16(),
        content_type: text(&head.headers, &header::CONTENT_TYPE),
        location: text(&head.headers, &header::LOCATION),
        body: body.into(),
        cut,
    })
}

/// Address to connect to. One address that is not public refuses the name: which of several is
/// dialled must not depend on luck.
async fn judged(network: &Arc<dyn WebNetwork>, origin: &Origin) -> Result<SocketAddr, WebError> {
    let host = &origin.host;
    let unknown = |source| WebError::Unknown {
        host: host.clone(),
        source,
    };
    let found = network.resolve(host, origin.port).await;
    let found = found.map_err(|source| unknown(Some(source)))?;
    for address in &found {
        if let Some(why) = addresses::refusal(address.ip()) {
            return Err(WebError::NotPublic {
                host: host.clone(),
                address: address.ip(),
                why,
            });
        }
    }
    found.first().copied().ok_or_else(|| unknown(None))
}

fn text(headers: &HeaderMap, name: &header::HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
