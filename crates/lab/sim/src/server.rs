//! The simulator behind a socket.
//!
//! # Model
//! One task per connection (HTTP/1.1, keep-alive). A request is read and written on the
//! connection's task; only settling takes the lock, which is never held across an await.
//!
//! # Responsibilities
//! - Every request that is HTTP gets an answer with the documented body, however bad it is. A body
//!   that is too large is read to its end (and thrown away), because a client that is still
//!   sending would not see an early answer.
//! - Pauses, stalls and cuts of a scripted stream, in real time. With virtual time, pauses are
//!   skipped: time is what the header `x-sim-now-ms` last said.
//! - Limits on what a slow client can hold: a time for the head, one for the body.
//!
//! # Not here
//! The content of answers: [`crate::Simulator`].

use crate::config::{ConfigError, SimConfig};
use crate::error::{ApiError, ErrorKind};
use crate::http::{Body, Frame, Piece, SimRequest, SimResponse};
use crate::read::Rules;
use crate::simulator::{Simulator, State};
use crate::write;
use bytes::{Bytes, BytesMut};
use dormouse_core::units::Millis;
use dormouse_system::Clock;
use http_body_util::BodyExt as _;
use hyper::body::{Frame as HttpFrame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Sleep;

/// Time a client has to send the head of a request: a slow one must not hold a connection for ever.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Time a client has to send a body: 32 MiB over a slow line.
const BODY_TIME: Duration = Duration::from_mins(2);
/// Bytes a pipe holds before its writer waits: as much as a socket's buffer commonly holds.
const PIPE: usize = 64 * 1024;
/// Time after which a stalled stream is given up: beyond any client's timeout.
const STALL_TIME: Duration = Duration::from_mins(10);
/// Wait before a cut: a broken body takes buffered bytes with it, and those must have left.
const CUT_PAUSE: Duration = Duration::from_millis(2);
/// Time open connections have to finish when the server stops; longer answers are cut off.
const GRACE: Duration = Duration::from_secs(5);
/// Multiple of the allowed length that is read of a body that is too large before the connection is
/// given up.
const DRAIN_FACTOR: usize = 16;

/// Reason that a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration is not sound.
    #[error("the simulator cannot be configured")]
    Config(#[source] ConfigError),
    /// The listener has no address.
    #[error("the simulator's socket cannot be used")]
    Socket(#[source] io::Error),
}

/// A server that runs until it is stopped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// The address it listens on, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, lets running answers finish for a while, and returns when all is closed.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        drop(self.task.await);
    }

    /// Runs until the listener fails or the task is cancelled.
    pub async fn wait(self) {
        drop(self.task.await);
    }
}

/// State that all connections share.
#[derive(Debug)]
struct Shared {
    rules: Arc<Rules>,
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    /// The last time a client gave, where time is virtual.
    virtual_now: Mutex<Millis>,
}

/// Serves a simulator on a listener, in tasks of the current tokio runtime.
///
/// # Errors
/// When the configuration is not sound or the listener has no address.
pub fn serve(
    config: SimConfig,
    listener: TcpListener,
    clock: Arc<dyn Clock>,
) -> Result<Server, ServeError> {
    let address = listener.local_addr().map_err(ServeError::Socket)?;
    let shared = Shared::new(config, clock)?;
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(accept(shared, listener, stopped));
    Ok(Server {
        address,
        stop,
        task,
    })
}

/// A simulator without a socket: each connection is a pipe within this process.
#[derive(Debug)]
pub struct InProcess(Arc<Shared>);

impl InProcess {
    /// A simulator that reads the time from a clock.
    ///
    /// # Errors
    /// When the configuration is not sound.
    pub fn new(config: SimConfig, clock: Arc<dyn Clock>) -> Result<Self, ServeError> {
        Shared::new(config, clock).map(Self)
    }

    /// The client's end of a new connection. Must be called within a tokio runtime, which serves
    /// the other end until the client drops this one.
    pub fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        // A pipe ends with its client; there is nothing to stop.
        let (_, never) = watch::channel(false);
        tokio::spawn(connection(Arc::clone(&self.0), theirs, never));
        ours
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener, mut stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = is_set(&mut stopped) => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Small answers should not wait for more of them; an error costs only speed.
                    drop(stream.set_nodelay(true));
                    connections.spawn(connection(Arc::clone(&shared), stream, stopped.clone()));
                }
                // Out of descriptors, or the peer is gone already: not a reason to stop. A short
                // pause keeps the loop from spinning.
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            },
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    drop(tokio::time::timeout(GRACE, all).await);
}

async fn is_set(stopped: &mut watch::Receiver<bool>) {
    // An error means that the server's handle is gone: then it runs as long as the runtime.
    if stopped.wait_for(|stopped| *stopped).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn connection(
    shared: Arc<Shared>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    mut stopped: watch::Receiver<bool>,
) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(shared.answer(request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let mut stopping = false;
    loop {
        tokio::select! {
            // A broken connection is the client's business, or a fault that was asked for.
            _ = connection.as_mut() => return,
            () = is_set(&mut stopped), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

impl Shared {
    fn new(config: SimConfig, clock: Arc<dyn Clock>) -> Result<Arc<Self>, ServeError> {
        let simulator = Simulator::new(config).map_err(ServeError::Config)?;
        let (rules, state) = simulator.into_parts();
        Ok(Arc::new(Self {
            rules,
            state: Mutex::new(state),
            clock,
            virtual_now: Mutex::new(Millis(0)),
        }))
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Playback> {
        let started = self.clock.now();
        let (parts, body) = request.into_parts();
        let mut simple = SimRequest {
            method: parts.method.as_str().to_owned(),
            path: parts
                .uri
                .path_and_query()
                .map_or("/", hyper::http::uri::PathAndQuery::as_str)
                .to_owned(),
            headers: Vec::with_capacity(parts.headers.len()),
            body: Bytes::new(),
        };
        for (name, value) in &parts.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            simple.headers.push((name.as_str().to_owned(), value));
        }
        let limit = self.rules.config.max_body_bytes;
        let problem = match tokio::time::timeout(BODY_TIME, collect(body, limit)).await {
            Ok(Ok(bytes)) => {
                simple.body = bytes;
                None
            }
            Ok(Err(error)) => Some(error),
            Err(_) => Some(ApiError::new(
                ErrorKind::Timeout,
                "The body did not arrive in time.",
            )),
        };
        let now = self.now(&simple, started);
        let mut reading = self.rules.read(&simple, None);
        if let Some(problem) = problem {
            // Head and account still count, so that limits and ids are those of the request.
            reading.job = Err(problem);
        }
        let outcome = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.settle(&self.rules, reading, now)
        };
        let response = write::response(&self.rules, outcome);
        let mut http = to_http(response, self.rules.config.virtual_time);
        // The head travels with the first byte: a client that waits for a head sees the pause too.
        let pause = http.body_mut().take_first_pause();
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        http
    }

    fn now(&self, request: &SimRequest, started: Millis) -> Millis {
        if !self.rules.config.virtual_time {
            return started;
        }
        let given = request
            .header("x-sim-now-ms")
            .and_then(|text| text.trim().parse().ok());
        let mut now = self
            .virtual_now
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A request without the header happens at the last time given.
        if let Some(given) = given {
            *now = Millis(given);
        }
        *now
    }
}

/// Reads a body to its end; keeps it only while it is not too large.
async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, ApiError> {
    let broken = |_| ApiError::invalid("The request body could not be read.");
    let announced = usize::try_from(hyper::body::Body::size_hint(&body).lower()).unwrap_or(limit);
    let mut first: Option<Bytes> = None;
    let mut rest = BytesMut::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        seen += data.len();
        // Emptied, but read on: a client that is still sending would not see an early answer.
        if seen > limit {
            (first, rest) = (None, BytesMut::new());
            if seen > limit.saturating_mul(DRAIN_FACTOR) {
                break;
            }
        } else if seen == data.len() && seen >= announced {
            // The common small body: one piece, not copied.
            first = Some(data);
        } else {
            if let Some(first) = first.take() {
                rest.extend_from_slice(&first);
            }
            if rest.is_empty() {
                rest.reserve(announced.min(limit));
            }
            rest.extend_from_slice(&data);
        }
    }
    if seen > limit {
        return Err(ApiError::too_large());
    }
    Ok(first.unwrap_or_else(|| rest.freeze()))
}

fn to_http(response: SimResponse, skip_pauses: bool) -> Response<Playback> {
    let body = Playback::new(response.body, skip_pauses);
    let mut http = Response::new(body);
    *http.status_mut() =
        StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in response.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            http.headers_mut().append(name, value);
        }
    }
    http
}

/// A scripted break of the connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection was cut as scripted")]
struct Scripted;

/// Plays the pieces of a body in time.
#[derive(Debug)]
struct Playback {
    frames: VecDeque<Frame>,
    /// Known length of a body that comes whole.
    length: Option<u64>,
    skip_pauses: bool,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Playback {
    fn new(body: Body, skip_pauses: bool) -> Self {
        let (frames, length) = match body {
            Body::Stream(frames) => (frames, None),
            Body::Whole { after, bytes } => {
                let length = Some(bytes.len() as u64);
                let piece = Piece::Bytes(bytes);
                (vec![Frame { after, piece }], length)
            }
        };
        Self {
            frames: VecDeque::from(frames),
            length,
            skip_pauses,
            pause: None,
        }
    }

    fn pause_before(&self, frame: &Frame) -> Duration {
        match frame.piece {
            Piece::Stall => STALL_TIME,
            Piece::Cut => CUT_PAUSE,
            Piece::Bytes(_) if self.skip_pauses => Duration::ZERO,
            Piece::Bytes(_) => Duration::from_millis(frame.after),
        }
    }

    /// Time in which nothing at all is sent. A cut is a broken answer, so it comes after the head.
    fn take_first_pause(&mut self) -> Duration {
        let Some(first) = self.frames.front() else {
            return Duration::ZERO;
        };
        let pause = match first.piece {
            Piece::Cut => Duration::ZERO,
            Piece::Bytes(_) | Piece::Stall => self.pause_before(first),
        };
        if let Some(first) = self.frames.front_mut() {
            first.after = 0;
            if first.piece == Piece::Stall {
                first.piece = Piece::Cut;
            }
        }
        pause
    }

    /// The next piece, with all pieces that follow without a pause.
    fn take_ready(&mut self) -> Option<Result<HttpFrame<Bytes>, Scripted>> {
        let first = match self.frames.pop_front()?.piece {
            Piece::Bytes(bytes) => bytes,
            Piece::Cut | Piece::Stall => return Some(Err(Scripted)),
        };
        let mut joined: Option<BytesMut> = None;
        while let Some(next) = self.frames.front() {
            let (true, Piece::Bytes(bytes)) = (self.pause_before(next).is_zero(), &next.piece)
            else {
                break;
            };
            joined
                .get_or_insert_with(|| BytesMut::from(first.as_ref()))
                .extend_from_slice(bytes);
            self.frames.pop_front();
        }
        Some(Ok(HttpFrame::data(joined.map_or(first, BytesMut::freeze))))
    }
}

impl hyper::body::Body for Playback {
    type Data = Bytes;
    type Error = Scripted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<HttpFrame<Bytes>, Scripted>>> {
        if self.pause.is_none() {
            let wait = match self.frames.front() {
                None => return Poll::Ready(None),
                Some(frame) => self.pause_before(frame),
            };
            if wait.is_zero() {
                return Poll::Ready(self.take_ready());
            }
            self.pause = Some(Box::pin(tokio::time::sleep(wait)));
        }
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(context));
        }
        self.pause = None;
        Poll::Ready(self.take_ready())
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.length
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_head_waits_for_the_first_byte_but_not_for_a_cut() {
        let late = Piece::Bytes(Bytes::from_static(b"x"));
        for (piece, skip_pauses, pause) in [
            (late.clone(), false, Duration::from_millis(70)),
            (late, true, Duration::ZERO),
            (Piece::Stall, true, STALL_TIME),
            (Piece::Cut, false, Duration::ZERO),
        ] {
            let frame = Frame { after: 70, piece };
            let mut playback = Playback::new(Body::Stream(vec![frame.clone()]), skip_pauses);
            assert_eq!(playback.take_first_pause(), pause, "{frame:?}");
            // Not waited for twice.
            assert_eq!(playback.take_first_pause(), Duration::ZERO, "{frame:?}");
        }
    }
}
