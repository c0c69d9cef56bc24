//! HTTP of the protocol, over the connections that models are asked by.
//!
//! # Model
//! One request, one connection: calls are seldom, and a reply may stay open for long. A redirect is an
//! error, because headers with keys would follow it. Replies are bounded.
//!
//! # Not here
//! Sessions, resumption, headers of the protocol: `rmcp`. Signing in (OAuth): a server that asks for
//! it fails with its own words.

use bytes::Bytes;
use dormouse_model::{Connector, Origin, SetupError, TcpConnector};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, BodyStream, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Bytes of one reply, or of one event of a stream; the same as for a line of a process.
const LARGEST: usize = 16 * 1024 * 1024;
/// Bytes of a failure that are read, to tell its reason.
const LARGEST_FAILURE: usize = 64 * 1024;
/// Time for a connection; as long as models have.
const CONNECT: Duration = Duration::from_secs(10);
/// Kinds of replies that the protocol knows.
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// Header of a session, in servers of the older kind.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

type Failed = StreamableHttpError<io::Error>;

/// Connections to one server.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    connector: Arc<dyn Connector>,
    origin: Origin,
    authority: String,
    path: String,
}

/// A reply whose body is still coming; its connection ends with it.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    link: Link,
}

struct Link(JoinHandle<()>);

impl Drop for Link {
    // Without it the task would keep the connection open, and the server would go on answering.
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Web {
    /// Connections to an address.
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        let bad = || "its address cannot be used".to_owned();
        let uri: Uri = url.trim().parse().map_err(|_| bad())?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad()),
        };
        let authority = uri.authority().ok_or_else(bad)?;
        // A name and password in the address would end up in messages.
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(bad());
        }
        let origin = Origin {
            https,
            // IPv6 addresses stand in brackets in a URL, but not when they are dialled.
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(if https { 443 } else { 80 }),
        };
        let connector = TcpConnector::for_origin(&origin)
            .map_err(|error: SetupError| dormouse_core::show::chain(&error))?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            connector: Arc::new(connector),
            origin,
            authority: authority.as_str().to_owned(),
            path: path.to_owned(),
        })
    }

    async fn send(
        &self,
        method: Method,
        headers: HashMap<HeaderName, HeaderValue>,
        more: Vec<(HeaderName, HeaderValue)>,
        body: Vec<u8>,
    ) -> Result<Reply, Failed> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = self.path.parse().map_err(|_| failed("a bad address"))?;
        let all = request.headers_mut();
        all.extend(headers);
        for (name, value) in more {
            all.insert(name, value);
        }
        let host = HeaderValue::from_str(&self.authority).map_err(|_| failed("a bad address"))?;
        all.insert(HOST, host);
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        all.insert(ACCEPT, accept);
        let connecting = async {
            let connection = self.connector.connect(&self.origin).await?;
            let handshake = http1::handshake(TokioIo::new(connection)).await;
            handshake.map_err(io::Error::other)
        };
        let (mut sender, connection) = tokio::time::timeout(CONNECT, connecting)
            .await
            .map_err(|_| failed("no connection in time"))?
            .map_err(StreamableHttpError::Client)?;
        let link = Link(tokio::spawn(async move {
            // The reader of the reply is told how it ended.
            connection.await.ok();
        }));
        let sent = sender.send_request(request).await;
        let (head, body) = sent.map_err(broke)?.into_parts();
        if head.status == StatusCode::UNAUTHORIZED
            && let Some(asks) = head.headers.get(WWW_AUTHENTICATE)
        {
            let asks = String::from_utf8_lossy(asks.as_bytes()).into_owned();
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(
                asks,
            )));
        }
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            body,
            link,
        })
    }
}

impl Reply {
    fn is(&self, kind: &str) -> bool {
        let given = self.headers.get(CONTENT_TYPE);
        given.is_some_and(|given| given.as_bytes().starts_with(kind.as_bytes()))
    }

    fn session(&self) -> Option<String> {
        let session = self.headers.get(SESSION)?;
        session.to_str().ok().map(str::to_owned)
    }

    async fn bytes(self, most: usize) -> Result<Bytes, Failed> {
        let Self { body, link, .. } = self;
        let read = Limited::new(body, most).collect().await;
        drop(link);
        let read = read.map_err(|error| StreamableHttpError::Client(io::Error::other(error)))?;
        Ok(read.to_bytes())
    }

    /// Events of the body, each within the limit.
    fn events(self, most: usize) -> BoxStream<'static, Result<Sse, SseError>> {
        let Self { body, link, .. } = self;
        let mut open = 0_usize;
        let chunks = BodyStream::new(body).filter_map(move |frame| {
            // Kept until the stream is dropped.
            let _link = &link;
            let chunk = match frame {
                Ok(frame) => frame.into_data().ok().map(Ok),
                Err(error) => Some(Err(io::Error::other(error))),
            };
            let chunk = chunk.map(|chunk| within(chunk?, &mut open, most));
            std::future::ready(chunk)
        });
        SseStream::from_bytes_stream(chunks).boxed()
    }
}

/// Passes a chunk on, unless the event it belongs to is too long.
fn within(chunk: Bytes, open: &mut usize, most: usize) -> io::Result<Bytes> {
    // An empty line ends an event.
    let end = chunk
        .windows(2)
        .rposition(|two| two == b"\n\n" || two == b"\n\r");
    *open = end.map_or(*open + chunk.len(), |end| chunk.len() - end);
    if *open > most {
        return Err(io::Error::other("an event of the server is too long"));
    }
    Ok(chunk)
}

impl StreamableHttpClient for Web {
    type Error = io::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, LARGEST)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        most: usize,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let in_session = session.is_some();
        let mut more = vec![(CONTENT_TYPE, HeaderValue::from_static(JSON))];
        more.extend(session.map(|id| header(SESSION, &id)).transpose()?);
        let body = serde_json::to_vec(&message)?;
        let reply = self.send(Method::POST, headers, more, body).await?;
        let status = reply.status;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            let body = reply.bytes(LARGEST_FAILURE).await.unwrap_or_default();
            return refused(&message, in_session, status, &body);
        }
        let session = reply.session();
        if reply.is(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(reply.events(most), session));
        }
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        let is_json = reply.is(JSON);
        let body = reply.bytes(most).await?;
        match serde_json::from_slice(&body) {
            Ok(answer) if is_json => Ok(StreamableHttpPostResponse::Json(answer, session)),
            // A notification needs no answer, whatever the server says to it.
            _ if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            Ok(_) => Err(StreamableHttpError::UnexpectedContentType(None)),
            Err(error) => Err(StreamableHttpError::Deserialize(error)),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let more = vec![header(SESSION, &session)?];
        // Servers may keep their sessions; there is nothing to do about it.
        self.send(Method::DELETE, headers, more, Vec::new()).await?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, LARGEST)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        most: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let mut more = Vec::new();
        more.extend(session.map(|id| header(SESSION, &id)).transpose()?);
        more.extend(last.map(|id| header(LAST_EVENT, &id)).transpose()?);
        let reply = self.send(Method::GET, headers, more, Vec::new()).await?;
        match reply.status {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(status_error(status)),
            _ if !reply.is(EVENTS) => Err(StreamableHttpError::UnexpectedContentType(None)),
            _ => Ok(reply.events(most)),
        }
    }
}

/// Answer to a request that the server refused. An older server does not know how newer ones are
/// greeted, and says so in many ways: its refusal becomes an answer, so that the older greeting is
/// tried.
fn refused(
    message: &ClientJsonRpcMessage,
    in_session: bool,
    status: StatusCode,
    body: &[u8],
) -> Result<StreamableHttpPostResponse, Failed> {
    let auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let said = match serde_json::from_slice(body) {
        Ok(ServerJsonRpcMessage::Error(said)) => Some(said),
        _ => None,
    };
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && !in_session
        && !auth
        && status.is_client_error()
    {
        let words = format!("the server refused the greeting with {status}");
        let error = said.map_or_else(
            || ErrorData::invalid_request(words, None),
            |said| said.error,
        );
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match said {
        Some(said) if !auth => Ok(StreamableHttpPostResponse::Json(
            ServerJsonRpcMessage::Error(said),
            None,
        )),
        _ => Err(status_error(status)),
    }
}

fn status_error(status: StatusCode) -> Failed {
    StreamableHttpError::HttpStatus(HttpStatusError::new(status.as_u16(), None))
}

fn header(name: HeaderName, value: &str) -> Result<(HeaderName, HeaderValue), Failed> {
    let value = HeaderValue::from_str(value).map_err(|_| failed("a bad header"))?;
    Ok((name, value))
}

fn failed(why: &'static str) -> Failed {
    StreamableHttpError::Client(io::Error::other(why))
}

fn broke(error: hyper::Error) -> Failed {
    StreamableHttpError::Client(io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_passwords_and_without_hosts_are_refused() {
        for url in ["http://a:b@host/", "http:///x", "nonsense", ""] {
            assert!(Web::new(url).is_err(), "{url}");
        }
        let web = Web::new("http://[::1]:81/mcp?x=1").unwrap();
        assert_eq!((web.origin.host.as_str(), web.origin.port), ("::1", 81));
        assert_eq!(web.path, "/mcp?x=1");
    }

    #[test]
    fn an_event_without_end_is_refused_and_many_short_ones_are_not() {
        let mut open = 0;
        for _ in 0..100 {
            let chunk = Bytes::from_static(b"data: x\n\nda");
            assert!(within(chunk, &mut open, 32).is_ok());
        }
        let chunk = || Bytes::from_static(b"0123456789");
        assert!(within(chunk(), &mut open, 32).is_ok());
        assert!(within(chunk(), &mut open, 32).is_ok());
        assert!(within(chunk(), &mut open, 32).is_err());
    }
}
