//! The course of one exchange.
//!
//! Admitted, sent once, passed back. Without layers a body is passed on as it arrives and recognised
//! beside the path; with them it is read first.

use crate::clients::Clients;
use crate::headers::{self, LAYERS, REQUEST};
use crate::layered::Layered;
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::server::Reads;
use crate::tap::{Broken, Inner, Passing, Sent, Tap};
use crate::turns::Turns;
use crate::upload::{Fate, Streamed, Upload, UploadError};
use crate::upstream::Upstream;
use bytes::{Bytes, BytesMut};
use dormouse_relay::{Caller, Ended, Layers, Recognition, Relay};
use dormouse_system::{Clock, Ids};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Unit of the room for bodies: a semaphore counts in 32 bits.
pub(crate) const UNIT: usize = 1024;
/// Multiple of the allowed length that is read of a body that is too large, so that its client is
/// done sending and sees the answer.
const DRAIN_FACTOR: usize = 4;
/// Length up to which a body is read whole in any case: it comes in one read or two, and leaves in one
/// write with its head.
const SHORT: u64 = 16 * 1024;

/// State that all exchanges share.
pub(crate) struct Shared {
    pub(crate) relay: Arc<Relay>,
    pub(crate) layers: Option<Arc<Layers>>,
    /// Way in which models open texts that left their prompt.
    pub(crate) reads: Reads,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) turns: Turns,
    pub(crate) upstream: Upstream,
    pub(crate) clients: Clients,
    pub(crate) limits: Limits,
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) bodies: Arc<Semaphore>,
    pub(crate) stopping: AtomicBool,
    pub(crate) refused: Mutex<BTreeMap<&'static str, u64>>,
    /// Dropped with the last exchange: its closing says that everything is booked.
    pub(crate) _done: mpsc::Sender<()>,
}

/// A recognition that is to come.
type Reading = oneshot::Receiver<Recognition>;

/// The body of a reply: our own words, or the upstream's bytes.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Own(Full<Bytes>),
    Passing(Passing),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Own(body) => Pin::new(body)
                .poll_frame(context)
                .map_err(|never| match never {}),
            Self::Passing(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(body) => body.is_end_stream(),
            Self::Passing(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(body) => body.size_hint(),
            Self::Passing(body) => body.size_hint(),
        }
    }
}

/// Paths that the gateway answers or passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// A request to a model: recognised and booked.
    Message,
    /// A question about the length of such a request.
    Count,
    /// Anything else of the provider's.
    Other,
    Health,
    Metrics,
}

impl Route {
    fn of(method: &Method, path: &str) -> Result<Self, Refusal> {
        match (method, path.trim_end_matches('/')) {
            (&Method::POST, "/v1/messages") => Ok(Self::Message),
            (&Method::POST, "/v1/messages/count_tokens") => Ok(Self::Count),
            (&Method::GET | &Method::HEAD, "/healthz") => Ok(Self::Health),
            (&Method::GET, "/metrics") => Ok(Self::Metrics),
            (&Method::CONNECT, _) => Err(Refusal::NotFound),
            // A path that climbs could leave the upstream's prefix.
            (_, path) if climbs(path) => Err(Refusal::NotFound),
            (_, path) if path.starts_with("/v1/") || path.starts_with("/api/") => Ok(Self::Other),
            _ => Err(Refusal::NotFound),
        }
    }
}

/// True if a segment of a path, written as such or by its codes, leads upwards.
fn climbs(path: &str) -> bool {
    path.split('/')
        .any(|segment| segment.to_ascii_lowercase().replace("%2e", ".") == "..")
}

impl Shared {
    /// Answers one request, whatever it is.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Outgoing> {
        // In the form of the provider's ids: clients show it as the id of the request.
        let id = format!("req_{}", self.ids.fresh());
        let exchanged = Arc::clone(&self).exchange(&id, request).await;
        let mut response = exchanged.unwrap_or_else(|refusal| {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            *refused.entry(refusal.word()).or_default() += 1;
            tracing::info!(request = id, refusal = refusal.word(), "refused");
            refusal.response(&id).map(Outgoing::Own)
        });
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST, id);
        }
        response
    }

    async fn exchange(
        self: Arc<Self>,
        id: &str,
        request: Request<Incoming>,
    ) -> Result<Response<Outgoing>, Refusal> {
        let (at, since) = (self.clock.now(), self.clock.ticks());
        let (parts, body) = request.into_parts();
        let route = Route::of(&parts.method, parts.uri.path())?;
        if route == Route::Health {
            return Ok(own("ok\n", "text/plain"));
        }
        if self.stopping.load(Ordering::Relaxed) {
            return Err(Refusal::Stopping);
        }
        let mut passed = headers::upstream(&parts.headers);
        let mac = |credential: &[u8]| self.relay.mac(credential);
        let credential = self.clients.admit(&parts.headers, &mut passed, mac)?;
        if route == Route::Metrics {
            return Ok(own(&self.metrics(), "text/plain; version=0.0.4"));
        }
        let room = Arc::clone(&self.requests).try_acquire_owned();
        let mut permits = vec![room.map_err(|_| Refusal::Busy)?];
        permits.push(self.clients.enter(credential)?);
        let path = parts.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let is_off = parts.headers.contains_key(headers::OFF);
        let caller = || {
            let (session, agent) = headers::identity(&parts.headers);
            Caller {
                credential,
                session,
                agent,
            }
        };
        let layers = self.layers.as_ref().filter(|_| !is_off);
        let (Some(on), Route::Message | Route::Count) = (layers, route) else {
            let caller = (route == Route::Message && !is_off).then(caller);
            let (upload, length, (fate, reading)) = self.passed_on(body, caller.as_ref()).await?;
            let tap = caller.zip(reading).map(|(caller, reading)| {
                let sent = Sent {
                    request: id.to_owned(),
                    at,
                    since,
                    bytes: length,
                    caller,
                    reading,
                    beside: None,
                    expected: None,
                };
                Tap::start(Arc::clone(&self), sent)
            });
            let reply = self.sent((parts.method, &path), passed, upload, tap.as_ref());
            let reply = reply.await.map_err(|refusal| match fate.error() {
                Some(UploadError::Broken) => Refusal::BadBody,
                Some(UploadError::Slow) => Refusal::SlowBody,
                None => refusal,
            })?;
            let reply = reply.map(Inner::Upstream);
            return Ok(self.passed_back(reply, Bytes::new(), tap, permits, "off"));
        };
        let (body, held) = self.collect(body).await?;
        let request = Layered {
            id,
            body,
            headers: &parts.headers,
            path: &path,
            at,
            since,
            caller: caller(),
        };
        if route == Route::Count {
            let body = Upload::whole(self.counted(on, &request).await);
            let reply = self.sent((parts.method, &path), passed, body, None).await?;
            let reply = reply.map(Inner::Upstream);
            return Ok(self.passed_back(reply, Bytes::new(), None, permits, "on"));
        }
        let asked = self.message(on, &request, parts.method, passed).await;
        let (reply, before, tap, words) = asked?;
        drop(held);
        Ok(self.passed_back(reply, before, Some(tap), permits, &words))
    }

    /// Sends a request upstream, once.
    pub(crate) async fn sent(
        &self,
        (method, path): (Method, &PathAndQuery),
        headers: HeaderMap,
        body: Upload,
        tap: Option<&Tap>,
    ) -> Result<Response<Incoming>, Refusal> {
        let sending = self.upstream.send(method, path, headers, body);
        let refusal = match tokio::time::timeout(self.limits.silence, sending).await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(why)) => Refusal::Unreachable(why),
            Err(_) => Refusal::Silent,
        };
        if let Some(tap) = tap {
            tap.end(Ended::NoReply);
        }
        Err(refusal)
    }

    /// A body that no layer reads, its length, and what becomes of it: as it arrives if its length is
    /// known, else whole. For a caller there is a copy to recognise.
    async fn passed_on(
        &self,
        body: Incoming,
        caller: Option<&Caller>,
    ) -> Result<(Upload, u64, (Fate, Option<Reading>)), Refusal> {
        let enter = |length: u64| {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            caller
                .map(|caller| self.turns.enter(caller.clone(), length))
                .unzip()
        };
        let exact = body.size_hint().exact();
        let longest = self.limits.body as u64;
        if let Some(length) = exact.filter(|length| *length > SHORT && *length <= longest) {
            let (copy, reading) = enter(length);
            let (body, fate) = Streamed::new(body, length, self.limits.upload, copy.flatten());
            return Ok((Upload::Streamed(body), length, (fate, reading)));
        }
        let (body, _held) = self.collect(body).await?;
        let length = body.len() as u64;
        let (copy, reading) = enter(length);
        if let Some(mut copy) = copy.flatten() {
            copy.pieces.push(body.clone());
            copy.whole();
        }
        Ok((Upload::whole(body), length, (Fate::default(), reading)))
    }

    /// The upstream's reply, with its headers and its body as they come.
    fn passed_back(
        &self,
        reply: Response<Inner>,
        before: Bytes,
        tap: Option<Tap>,
        permits: Vec<OwnedSemaphorePermit>,
        layers: &str,
    ) -> Response<Outgoing> {
        let (head, body) = reply.into_parts();
        if let Some(tap) = &tap {
            let kind = headers::text(&head.headers, CONTENT_TYPE.as_str());
            // Compressed bytes pass like all others, and are not read.
            let plain = !head.headers.contains_key(CONTENT_ENCODING);
            tap.head(
                head.status.as_u16(),
                kind.filter(|_| plain).map(str::to_owned),
            );
        }
        let body = Passing::new((before, body), tap, self.limits.silence, permits);
        let mut response = Response::new(Outgoing::Passing(body));
        *response.status_mut() = head.status;
        *response.headers_mut() = headers::client(&head.headers);
        if let Ok(layers) = HeaderValue::from_str(layers) {
            response.headers_mut().insert(LAYERS, layers);
        }
        response
    }

    /// Reads a body whole, within the limits on its length, its time and the room for all bodies.
    async fn collect(
        &self,
        body: Incoming,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Refusal> {
        if body.is_end_stream() {
            return Ok((Bytes::new(), None));
        }
        let collecting = self.collected(body);
        match tokio::time::timeout(self.limits.upload, collecting).await {
            Ok(collected) => collected,
            Err(_) => Err(Refusal::SlowBody),
        }
    }

    async fn collected(
        &self,
        mut body: Incoming,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Refusal> {
        let limit = self.limits.body;
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        let mut held: Option<OwnedSemaphorePermit> = None;
        let mut whole = BytesMut::new();
        let mut seen = 0_usize;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Refusal::BadBody)?.into_data() else {
                continue;
            };
            seen = seen.saturating_add(data.len());
            if seen > limit {
                (whole, held) = (BytesMut::new(), None);
                if seen > limit.saturating_mul(DRAIN_FACTOR) {
                    break;
                }
                continue;
            }
            let needed =
                seen.div_ceil(UNIT) - held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            if let Ok(needed @ 1..) = u32::try_from(needed) {
                let more = Arc::clone(&self.bodies).try_acquire_many_owned(needed);
                let more = more.map_err(|_| Refusal::Busy)?;
                match &mut held {
                    Some(held) => held.merge(more),
                    None => held = Some(more),
                }
            }
            // The common small body: one piece, not copied.
            if whole.is_empty() && seen == announced {
                return Ok((data, held));
            }
            if whole.is_empty() {
                // More is taken as it comes: an announcement costs the client nothing.
                whole.reserve(announced.min(limit).min(64 * UNIT));
            }
            whole.extend_from_slice(&data);
        }
        if seen > limit {
            return Err(Refusal::TooLarge(limit));
        }
        Ok((whole.freeze(), held))
    }

    /// Figures of the relay and of the gateway itself.
    fn metrics(&self) -> String {
        let rewrites = self.layers.as_ref().map(|layers| layers.rewrites());
        let mut text = self.relay.figures(rewrites).prometheus();
        let under_way = self.limits.requests - self.requests.available_permits();
        let skipped = self.turns.skipped();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "# HELP dormouse_requests_under_way Exchanges at this moment.\n\
             # TYPE dormouse_requests_under_way gauge\n\
             dormouse_requests_under_way {under_way}\n\
             # HELP dormouse_unrecognised_total Requests booked without their conversation: too many waited.\n\
             # TYPE dormouse_unrecognised_total counter\n\
             dormouse_unrecognised_total {skipped}\n\
             # HELP dormouse_refused_total Requests that the gateway answered itself, by reason.\n\
             # TYPE dormouse_refused_total counter"
        );
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for (word, count) in &*refused {
            let _ = writeln!(text, "dormouse_refused_total{{reason=\"{word}\"}} {count}");
        }
        text
    }
}

fn own(text: &str, kind: &'static str) -> Response<Outgoing> {
    let body = Full::new(Bytes::copy_from_slice(text.as_bytes()));
    let mut response = Response::new(Outgoing::Own(body));
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_provider_pass_and_no_others() {
        let route = |method: Method, path: &str| Route::of(&method, path);
        assert_eq!(route(Method::POST, "/v1/messages"), Ok(Route::Message));
        assert_eq!(route(Method::POST, "/v1/messages/"), Ok(Route::Message));
        let count = "/v1/messages/count_tokens";
        assert_eq!(route(Method::POST, count), Ok(Route::Count));
        assert_eq!(route(Method::GET, count), Ok(Route::Other));
        for path in ["/v1/models", "/api/hello", "/v1/files"] {
            assert_eq!(route(Method::POST, path), Ok(Route::Other), "{path}");
        }
        assert_eq!(route(Method::GET, "/metrics"), Ok(Route::Metrics));
        for path in ["/", "/admin", "/v1", "/metrics/x", "//v1/messages"] {
            assert_eq!(route(Method::GET, path), Err(Refusal::NotFound), "{path}");
        }
        assert_eq!(
            route(Method::CONNECT, "/v1/messages"),
            Err(Refusal::NotFound)
        );
    }
}
