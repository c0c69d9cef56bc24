//! The server at an address of this machine.
//!
//! # Model
//! Requests whose `Origin` is a page of another machine are refused, as are names of hosts that are not
//! this machine's own: a page could otherwise reach the server by a name that leads here. An address
//! that others can reach needs a key.

use super::server::MemoryServer;
use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Pages of this machine itself, such as an inspector of servers.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// Pause behind a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(5);
/// Time for the head of a request.
const HEAD: Duration = Duration::from_secs(30);

type Service = StreamableHttpService<MemoryServer, LocalSessionManager>;

/// Serves until the process is ended. The address is told on the standard output.
pub(super) async fn serve(
    server: MemoryServer,
    address: SocketAddr,
    key: Option<String>,
    app: &mut App,
) -> Outcome {
    if !address.ip().is_loopback() && key.is_none() {
        let error = UserError::new(
            Exit::Usage,
            format!("{address} can be reached from elsewhere, and there is no key"),
        );
        let hint = format!("set {}, or listen at 127.0.0.1", super::KEY);
        return Err(error.hint(hint).into());
    }
    let listening = TcpListener::bind(address).await;
    let listener = listening.map_err(|error| UserError::of(Exit::Unreadable, &error))?;
    let address = listener.local_addr().unwrap_or(address);
    app.out.line(format!("http://{address}/mcp"))?;
    app.out.flush()?;
    let mut config = StreamableHttpServerConfig::default().with_allowed_origins(ORIGINS);
    if !address.ip().is_loopback() {
        // Reached by names that are not known here; the key protects it.
        config = config.disable_allowed_hosts();
    }
    let sessions = LocalSessionManager::default().into();
    let service = StreamableHttpService::new(move || Ok(server.for_session()), sessions, config);
    let key = key.map(Arc::<str>::from);
    loop {
        // A connection that fails to be accepted is the client's loss. A pause, since a process
        // without a free descriptor fails again at once.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (service, key) = (service.clone(), key.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request| answer(service.clone(), key.clone(), request));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .serve_connection(TokioIo::new(stream), answer);
            connection.await.ok()
        });
    }
}

async fn answer(
    service: Service,
    key: Option<Arc<str>>,
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let refused = |status| {
        let mut response = Response::new(Empty::new().boxed());
        *response.status_mut() = status;
        response
    };
    if request.uri().path() != "/mcp" {
        return Ok(refused(StatusCode::NOT_FOUND));
    }
    if let Some(key) = key
        && !has_key(request.headers(), &key)
    {
        return Ok(refused(StatusCode::UNAUTHORIZED));
    }
    Ok(service.handle(request).await)
}

fn has_key(headers: &HeaderMap, key: &str) -> bool {
    let given = headers
        .get(header::AUTHORIZATION)
        .map(http::HeaderValue::as_bytes);
    let given = given.and_then(|given| given.strip_prefix(b"Bearer "));
    // Every byte is compared, so that the time tells nothing of the place of a difference.
    given.is_some_and(|given| {
        let differs = given
            .iter()
            .zip(key.as_bytes())
            .fold(0, |all, (a, b)| all | (a ^ b));
        given.len() == key.len() && differs == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_key_opens() {
        let with = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, text.parse().unwrap());
            headers
        };
        assert!(has_key(&with("Bearer secret"), "secret"));
        for wrong in [
            "Bearer secre",
            "Bearer secret2",
            "secret",
            "bearer secret",
            "Bearer ",
        ] {
            assert!(!has_key(&with(wrong), "secret"), "{wrong}");
        }
        assert!(!has_key(&HeaderMap::new(), "secret"));
    }
}
