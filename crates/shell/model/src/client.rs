//! The common part of both clients: address, credential, timeouts.
//!
//! # Not here
//! Headers and paths of a wire: [`crate::anthropic`], [`crate::openai`].

use crate::attempt::{Call, Timeouts};
use crate::error::SetupError;
use crate::http::{
    BaseUrl, Connector, Http, Post, ProxyConnector, TcpConnector, is_excepted, is_local,
};
use dormouse_ask::CapabilityOverrides;
use dormouse_ask::Delivery;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Secret;
use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use std::fmt;
use std::sync::Arc;

/// The account that asks.
#[derive(Clone, Debug)]
pub enum Credential {
    /// No account; local servers want no key.
    None,
    /// A key in `x-api-key` (Messages) or as a bearer (chat completions).
    Key(Secret),
    /// A token in `authorization`.
    Bearer(Secret),
    /// A key that is asked for with every request; in the header of a key.
    Source(Arc<dyn KeySource>),
}

/// Source of a key that changes, such as a command that prints one.
pub trait KeySource: fmt::Debug + Send + Sync {
    /// The key to use now. May block; called on the blocking pool.
    ///
    /// # Errors
    /// The reason in words, if there is none.
    fn key(&self) -> Result<Secret, String>;
}

impl Credential {
    /// Source of the key, if it has one.
    pub(crate) fn source(&self) -> Option<Arc<dyn KeySource>> {
        match self {
            Self::Source(source) => Some(Arc::clone(source)),
            _ => None,
        }
    }
}

/// Adds the header of a key that a source gives.
pub(crate) async fn add_key(
    headers: &mut HeaderMap,
    name: &'static str,
    scheme: &str,
    source: Option<Arc<dyn KeySource>>,
) -> Result<(), SetupError> {
    let Some(source) = source else {
        return Ok(());
    };
    let asked = tokio::task::spawn_blocking(move || source.key()).await;
    let key = asked.unwrap_or_else(|_| Err("its source failed".to_owned()));
    let key = key.map_err(|why| SetupError::NoKey { why })?;
    secret_header(headers, name, scheme, &key)
}

/// Settings of a client; the same for both wires.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Address of the provider: scheme, host and what precedes the paths of its interface.
    pub url: String,
    /// The account that asks.
    pub credential: Credential,
    /// Longest waits of one attempt.
    pub timeouts: Timeouts,
    /// Known models, for capabilities.
    pub models: Arc<ModelTable>,
    /// Corrections of the table, such as the window a local server was started with.
    pub overrides: CapabilityOverrides,
    /// Way to connect; TCP if `None`.
    pub connector: Option<Arc<dyn Connector>>,
    /// Address of a proxy, such as `http://proxy:3128`. Servers on this machine are asked directly.
    pub proxy: Option<String>,
    /// Hosts that are asked without the proxy, as the variable `NO_PROXY` lists them.
    pub no_proxy: Vec<String>,
}

impl ClientOptions {
    /// Settings with defaults for everything but the address and the credential.
    pub fn new(url: impl Into<String>, credential: Credential) -> Self {
        Self {
            url: url.into(),
            credential,
            timeouts: Timeouts::default(),
            models: Arc::new(ModelTable::builtin().clone()),
            overrides: CapabilityOverrides::default(),
            connector: None,
            proxy: None,
            no_proxy: Vec::new(),
        }
    }
}

/// The common part of the clients. Clones share the connections.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    http: Http,
    timeouts: Timeouts,
    pub(crate) models: Arc<ModelTable>,
    pub(crate) overrides: CapabilityOverrides,
}

impl Base {
    pub(crate) fn new(options: &ClientOptions) -> Result<Self, SetupError> {
        let url = BaseUrl::parse(&options.url)?;
        let connector: Arc<dyn Connector> = match &options.connector {
            Some(connector) => connector.clone(),
            None if options.proxy.is_some()
                && !is_local(&url.origin.host)
                && !is_excepted(&url.origin, &options.no_proxy) =>
            {
                let address = options.proxy.as_deref().unwrap_or_default();
                Arc::new(ProxyConnector::new(address, &url.origin)?)
            }
            // Here, not at the first request: a build without TLS should fail when it is set up.
            None => Arc::new(TcpConnector::for_origin(&url.origin)?),
        };
        Ok(Self {
            http: Http::new(url, connector, options.timeouts.connect),
            timeouts: options.timeouts,
            models: options.models.clone(),
            overrides: options.overrides,
        })
    }

    pub(crate) fn call<P>(&self, post: Post, provider: P, delivery: Delivery) -> Call<P> {
        Call {
            http: self.http.clone(),
            post,
            provider,
            delivery,
            timeouts: self.timeouts,
        }
    }
}

/// The headers every request has.
pub(crate) fn json_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
}

/// A header whose value is kept out of logs.
pub(crate) fn secret_header(
    headers: &mut HeaderMap,
    name: &'static str,
    scheme: &str,
    secret: &Secret,
) -> Result<(), SetupError> {
    // Keys from files and environment variables often end in a newline, which no header may have.
    let text = format!("{scheme}{}", secret.reveal().trim());
    let mut value = HeaderValue::from_str(&text).map_err(|_| SetupError::BadHeader { name })?;
    // Debug output of a request would print the key otherwise.
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(name), value);
    Ok(())
}
