//! The connection to the provider.
//!
//! hyper-util's client, with its pool, over TLS or plain, directly or through a proxy. Sending again
//! is switched off in it: a request that failed is told to the client.

use crate::upload::Upload;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Method, Request, Response, Uri};
use hyper::body::Incoming;
use hyper_rustls::builderstates::WantsProtocols3;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Age at which an idle connection is dropped. Servers close theirs after a minute or more.
const IDLE_LIFE: Duration = Duration::from_secs(50);
/// Time for a connection; a host that is down takes for ever.
const CONNECT: Duration = Duration::from_secs(30);
/// Interval of the signs of life on an idle HTTP/2 connection: a dead one is not used again.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// Reason that an upstream cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The address is no URL of a server.
    #[error("`{0}` is no address of an upstream, such as https://api.anthropic.com")]
    Address(String),
    /// The proxy's address is none. The address itself may hold a password.
    #[error("the setting `proxy` is no address of a proxy, such as http://proxy:3128")]
    Proxy,
    /// The system has no certificates.
    #[error("the certificates of the system cannot be read")]
    Certificates(#[source] std::io::Error),
}

type Plain = Client<HttpsConnector<HttpConnector>, Upload>;
type Tunnelled = Client<HttpsConnector<Tunnel<HttpConnector>>, Upload>;

/// The provider behind the gateway.
#[derive(Clone)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    /// Path before that of every request, without a slash at its end.
    path: String,
    client: Way,
}

#[derive(Clone)]
enum Way {
    Direct(Plain),
    Proxied(Tunnelled),
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Upstream({}://{}{})",
            self.scheme, self.authority, self.path
        )
    }
}

impl Upstream {
    /// An upstream at a URL, reached through a proxy unless the exceptions name it or it is local.
    ///
    /// # Errors
    /// When an address is none, or https is not possible here.
    pub fn new(
        url: &str,
        proxy: Option<&str>,
        exceptions: &[String],
    ) -> Result<Self, UpstreamError> {
        let bad = || UpstreamError::Address(url.to_owned());
        let uri: Uri = url.trim().parse().map_err(|_| bad())?;
        let parts = uri.clone().into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(bad());
        };
        let has_account = authority.as_str().contains('@');
        let known = scheme == Scheme::HTTP || scheme == Scheme::HTTPS;
        if !known || has_account || authority.host().is_empty() || uri.query().is_some() {
            return Err(bad());
        }
        let client = match proxy.filter(|_| !is_local(authority.host())) {
            Some(proxy) => through(proxy, exceptions, &uri)?,
            None => direct(&scheme)?,
        };
        Ok(Self {
            path: uri.path().trim_end_matches('/').to_owned(),
            scheme,
            authority,
            client,
        })
    }

    /// Sends a request once, and returns when the head of its reply is there.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &PathAndQuery,
        headers: HeaderMap,
        body: Upload,
    ) -> Result<Response<Incoming>, String> {
        let uri = Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(format!("{}{path}", self.path))
            .build()
            .map_err(|error| error.to_string())?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let sent = match &self.client {
            Way::Direct(client) => client.request(request).await,
            Way::Proxied(client) => client.request(request).await,
        };
        sent.map_err(|error| words(&error))
    }
}

/// The reason of a failure down to its cause, without the address.
fn words(error: &Error) -> String {
    let mut words = if error.is_connect() {
        "no connection".to_owned()
    } else {
        "the connection broke".to_owned()
    };
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    // The TLS layer above accepts https.
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT));
    connector
}

fn direct(scheme: &Scheme) -> Result<Way, UpstreamError> {
    let connector = tls(scheme)?.wrap_connector(connector());
    Ok(Way::Direct(builder().build(connector)))
}

/// The way through a proxy, or around it where the exceptions name the upstream.
fn through(proxy: &str, exceptions: &[String], uri: &Uri) -> Result<Way, UpstreamError> {
    let rules = || Matcher::builder().all(proxy.to_owned());
    // An address that the matcher cannot read would silently be no proxy at all.
    if rules().build().intercept(uri).is_none() {
        return Err(UpstreamError::Proxy);
    }
    let scheme = uri.scheme().unwrap_or(&Scheme::HTTPS);
    let Some(proxy) = rules().no(exceptions.join(",")).build().intercept(uri) else {
        return direct(scheme);
    };
    let mut tunnel = Tunnel::new(proxy.uri().clone(), connector());
    if let Some(account) = proxy.basic_auth() {
        tunnel = tunnel.with_auth(account.clone());
    }
    let connector = tls(scheme)?.wrap_connector(tunnel);
    Ok(Way::Proxied(builder().build(connector)))
}

fn tls(scheme: &Scheme) -> Result<HttpsConnectorBuilder<WantsProtocols3>, UpstreamError> {
    // Named here, because a process-wide default can be set only once.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| UpstreamError::Certificates(std::io::Error::other(error)))?;
    let config = if *scheme == Scheme::HTTPS {
        let roots = config.with_native_roots();
        roots.map_err(UpstreamError::Certificates)?
    } else {
        // Never asked for a certificate.
        config.with_root_certificates(RootCertStore::empty())
    };
    let builder = HttpsConnectorBuilder::new().with_tls_config(config.with_no_client_auth());
    Ok(builder.https_or_http().enable_http1().enable_http2())
}

fn builder() -> hyper_util::client::legacy::Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .retry_canceled_requests(false)
        .pool_idle_timeout(IDLE_LIFE)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .http2_adaptive_window(true)
        .http2_keep_alive_interval(SIGN_OF_LIFE)
        .set_host(true);
    builder
}

fn is_local(host: &str) -> bool {
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
