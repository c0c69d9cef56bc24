//! HTTP, as far as a model needs it.
//!
//! # Model
//! One request, one reply; HTTP/1.1 over whatever a [`Connector`] opens. A connection that was
//! read to the end goes back to a small pool; one that is dropped before is closed at once, with
//! the task that drives it. The body sent is the caller's bytes.
//!
//! # Not here
//! Time-outs (`attempt`), retries (the caller's), redirects (no provider makes them), compression.

mod connect;
mod proxy;
#[cfg(feature = "tls")]
mod tls;

pub use connect::{Connecting, Connection, Connector, Origin, TcpConnector};
pub(crate) use proxy::{ProxyConnector, is_excepted, is_local};

use crate::error::{ConnectionError, ModelError, SetupError};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{HeaderMap, Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Age at which an idle connection is dropped. Servers close theirs after a minute or more; a
/// younger one is probably alive.
const IDLE_LIFE: Duration = Duration::from_secs(50);
/// Idle connections that are kept: a session and its forks, with some to spare.
const IDLE_MOST: usize = 8;

/// Address of a provider, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    pub(crate) origin: Origin,
    authority: String,
    path: String,
}

impl BaseUrl {
    pub(crate) fn parse(url: &str) -> Result<Self, SetupError> {
        let bad = || SetupError::BadUrl {
            url: url.to_owned(),
        };
        let uri: Uri = url.trim().parse().map_err(|_| bad())?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad()),
        };
        let authority = uri.authority().ok_or_else(bad)?;
        // A name and password in the address would end up in error messages.
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(bad());
        }
        // IPv6 addresses stand in brackets in a URL, but not when they are dialled.
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16().unwrap_or(if https { 443 } else { 80 });
        Ok(Self {
            origin: Origin { https, host, port },
            authority: authority.as_str().to_owned(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// A client of one server.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    base: BaseUrl,
    connector: Arc<dyn Connector>,
    connect_timeout: Duration,
    idle: Arc<Mutex<Vec<(Link, Instant)>>>,
}

/// A connection and the task that drives it.
#[derive(Debug)]
struct Link {
    sender: SendRequest<Full<Bytes>>,
    task: JoinHandle<()>,
}

impl Drop for Link {
    // Without it the task would keep the connection open, and the provider would go on answering.
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A request without its address.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) path: &'static str,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A reply whose body is still coming.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    link: Option<Link>,
    http: Http,
}

impl Http {
    pub(crate) fn new(
        base: BaseUrl,
        connector: Arc<dyn Connector>,
        connect_timeout: Duration,
    ) -> Self {
        Self {
            base,
            connector,
            connect_timeout,
            idle: Arc::default(),
        }
    }

    pub(crate) async fn send(&self, post: &Post) -> Result<Exchange, ModelError> {
        let request = self.request(Method::POST, post.path, &post.headers, post.body.clone())?;
        self.exchanged(request).await
    }

    /// Asks for something that has no body.
    pub(crate) async fn get(
        &self,
        path: &'static str,
        headers: HeaderMap,
    ) -> Result<Exchange, ModelError> {
        let request = self.request(Method::GET, path, &headers, Bytes::new())?;
        self.exchanged(request).await
    }

    async fn exchanged(
        &self,
        mut request: hyper::Request<Full<Bytes>>,
    ) -> Result<Exchange, ModelError> {
        while let Some(mut link) = self.take_idle() {
            // The server may have closed it while it was idle; the next one, or a new one, is
            // tried.
            if link.sender.ready().await.is_err() {
                continue;
            }
            match link.sender.try_send_request(request).await {
                Ok(response) => return Ok(self.exchange(response, link)),
                // Given back untouched: nothing of it was sent.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(self.broke(error.into_error())),
                },
            }
        }
        let mut link = self.dial().await?;
        match link.sender.send_request(request).await {
            Ok(response) => Ok(self.exchange(response, link)),
            Err(error) => Err(self.broke(error)),
        }
    }

    /// Host and port, as they stand in the address.
    pub(crate) fn host(&self) -> &str {
        &self.base.authority
    }

    pub(crate) fn broke(&self, error: hyper::Error) -> ModelError {
        self.failed(ConnectionError::Broke(error))
    }

    fn failed(&self, source: ConnectionError) -> ModelError {
        ModelError::Connection {
            host: self.base.authority.clone(),
            source,
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<hyper::Request<Full<Bytes>>, ModelError> {
        let mut request = hyper::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base.path))
            .header(hyper::header::HOST, &self.base.authority)
            .body(Full::new(body))
            .map_err(|_| SetupError::BadUrl {
                url: format!("{}{}", self.base.authority, self.base.path),
            })?;
        // Last, so that a header of the caller wins over ours.
        request.headers_mut().extend(headers.clone());
        Ok(request)
    }

    async fn dial(&self) -> Result<Link, ModelError> {
        let connecting = async {
            let connection = self.connector.connect(&self.base.origin).await?;
            let handshake = http1::handshake(TokioIo::new(connection)).await;
            handshake.map_err(std::io::Error::other)
        };
        let (sender, connection) = tokio::time::timeout(self.connect_timeout, connecting)
            .await
            .map_err(|_| self.failed(ConnectionError::ConnectTimeout(self.connect_timeout)))?
            .map_err(|error| self.failed(ConnectionError::Connect(error)))?;
        let task = tokio::spawn(async move {
            // The reader of the reply is told how it ended.
            connection.await.ok();
        });
        Ok(Link { sender, task })
    }

    fn exchange(&self, response: hyper::Response<Incoming>, link: Link) -> Exchange {
        let (head, body) = response.into_parts();
        Exchange {
            status: head.status,
            headers: head.headers,
            body,
            link: Some(link),
            http: self.clone(),
        }
    }

    fn take_idle(&self) -> Option<Link> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((link, since)) = idle.pop() {
            if since.elapsed() < IDLE_LIFE && !link.sender.is_closed() {
                return Some(link);
            }
        }
        None
    }

    fn put_idle(&self, link: Link) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // Swept on every return, so that dead connections do not fill the pool.
        idle.retain(|(link, since)| since.elapsed() < IDLE_LIFE && !link.sender.is_closed());
        // One too many is dropped, which closes it.
        if idle.len() < IDLE_MOST {
            idle.push((link, Instant::now()));
        }
    }
}

impl Exchange {
    /// The next bytes of the body; `None` at its end, where the connection is free again.
    pub(crate) async fn chunk(&mut self) -> Option<Result<Bytes, ModelError>> {
        loop {
            match self.body.frame().await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => return Some(Ok(data)),
                    // Trailers carry nothing that a client uses.
                    Err(_) => {}
                },
                Some(Err(error)) => return Some(Err(self.http.broke(error))),
                None => {
                    if let Some(link) = self.link.take() {
                        self.http.put_idle(link);
                    }
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let base = BaseUrl::parse("https://api.example.com").unwrap();
        assert_eq!(base.origin.port, 443);
        assert_eq!(
            (base.authority.as_str(), base.path.as_str()),
            ("api.example.com", "")
        );
        let base = BaseUrl::parse("http://127.0.0.1:8080/v1/").unwrap();
        assert_eq!((base.origin.port, base.path.as_str()), (8_080, "/v1"));
        let base = BaseUrl::parse("http://[::1]:8080").unwrap();
        assert_eq!(base.origin.host, "::1");
        for bad in [
            "",
            "api.example.com",
            "ftp://x",
            "http://a:b@x",
            "http://",
            "/v1",
        ] {
            assert!(BaseUrl::parse(bad).is_err(), "{bad}");
        }
    }
}
