//! A request on its way through the layers.
//!
//! The door waits for the recognition, has the body written, and asks the question of a compaction
//! upstream. Whatever fails on the way, the request is sent as it came.

use crate::answer::Shared;
use crate::headers;
use crate::reading::Reading;
use crate::refusal::Refusal;
use crate::server::Reads;
use crate::tap::{Inner, Resent, Sent, Tap};
use crate::upload::Upload;
use bytes::{Bytes, BytesMut};
use dormouse_core::units::Millis;
use dormouse_relay::{
    Body, Caller, Ended, Exchange, Facts, Layers, Observed, Observer, Prepared, Recognised,
    Recognition, Seat, Seen, Step,
};
use dormouse_system::Ticks;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap};
use http::uri::PathAndQuery;
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Most bytes of the answer to a question: a summary has some ten thousand, as events some ten times
/// that.
const LONGEST_ANSWER: usize = 8 * 1024 * 1024;

/// Bytes of a refusal that are looked at; the provider's have some hundred.
const LONGEST_REFUSAL: usize = 64 * 1024;

/// A request as the layers take it.
pub(crate) struct Layered<'a> {
    pub(crate) id: &'a str,
    pub(crate) body: Bytes,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) path: &'a PathAndQuery,
    pub(crate) at: Millis,
    pub(crate) since: Ticks,
    pub(crate) caller: Caller,
}

/// A request that was read.
enum Read {
    /// Not understood, or without a line of ours.
    Plain,
    /// Planned: ready to send, or with a question first.
    Step(Step),
    /// Another request of its conversation is being planned.
    Waits(Box<Waiting>),
}

struct Waiting {
    seat: Seat,
    body: Body,
    seen: Arc<Seen>,
    recognised: Recognised,
}

impl Layered<'_> {
    fn facts(&self, reads: Reads, refused: bool) -> Facts {
        Facts {
            local: reads == Reads::Path,
            offers: reads == Reads::Tool,
            project: headers::text(self.headers, headers::PROJECT).map(str::to_owned),
            betas: betas(self.headers),
            now: self.at,
            refused,
        }
    }

    fn untouched(&self) -> Prepared {
        Prepared::untouched(self.body.clone())
    }
}

impl Shared {
    /// Asks the upstream in the prompt of the layers, and once more in a shorter one if it finds the
    /// first too long. Returns the reply, what was read of its body, and the names of the layers.
    pub(crate) async fn message(
        self: &Arc<Self>,
        layers: &Arc<Layers>,
        request: &Layered<'_>,
        method: Method,
        mut passed: HeaderMap,
    ) -> Result<(Response<Inner>, Bytes, Tap, String), Refusal> {
        let (recognition, mut prepared) = self.layered(layers, request, &mut passed).await;
        let (answer, reading) = oneshot::channel();
        drop(answer.send(recognition.clone()));
        let sent = Sent {
            request: request.id.to_owned(),
            at: request.at,
            since: request.since,
            bytes: prepared.body.len() as u64,
            caller: request.caller.clone(),
            reading,
            beside: prepared.beside,
            expected: prepared.expected(),
        };
        let tap = Tap::start(Arc::clone(self), sent);
        let body = Upload::whole(prepared.body.clone());
        let target = (method.clone(), request.path);
        let reply = self.sent(target, passed.clone(), body, Some(&tap));
        let (mut reply, mut before) = (reply.await?, Bytes::new());
        if reply.status() == StatusCode::BAD_REQUEST {
            before = beginning(reply.body_mut()).await;
            let sent = (&prepared.body, &passed);
            if is_too_long(&before)
                && let Some(shorter) = self.shortened(layers, request, &recognition, sent).await
            {
                prepared = shorter;
                tap.resent(Resent {
                    bytes: prepared.body.len() as u64,
                    beside: prepared.beside,
                    expected: prepared.expected(),
                });
                let body = Upload::whole(prepared.body.clone());
                let target = (method.clone(), request.path);
                let again = self.sent(target, passed.clone(), body, Some(&tap));
                (reply, before) = (again.await?, Bytes::new());
            }
        }
        let words = prepared.acts.words();
        let reading = prepared.reads.zip(recognition.seen());
        let Some((conversation, (seen, _))) = reading else {
            return Ok((reply.map(Inner::Upstream), before, tap, words));
        };
        let reading = Reading {
            shared: Arc::clone(self),
            layers: Arc::clone(layers),
            conversation,
            seen,
            body: prepared.body,
            headers: passed,
            method,
            path: request.path.clone(),
        };
        Ok((reading.reply(reply).await, before, tap, words))
    }

    /// Passes a request through the layers. Returns its recognition, to be booked, and its body.
    ///
    /// One job on a thread that may block does all of it where nothing is asked upstream: each change
    /// of thread costs as much as reading a short body.
    async fn layered(
        self: &Arc<Self>,
        layers: &Arc<Layers>,
        request: &Layered<'_>,
        passed: &mut HeaderMap,
    ) -> (Recognition, Prepared) {
        // A compressed reply could not be measured, and the next plan rests on it.
        passed.remove(ACCEPT_ENCODING);
        let facts = request.facts(self.reads, false);
        let (relay, on) = (Arc::clone(&self.relay), Arc::clone(layers));
        let (body, caller, known) = (request.body.clone(), request.caller.clone(), facts.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let divided = Seen::divide(&body);
            let Ok(divided) = divided.inspect_err(|why| tracing::debug!(%why, "not understood"))
            else {
                return (Recognition::unread(), Read::Plain);
            };
            let (seen, body) = Body::of(&body, divided);
            let recognition = relay.recognise(&caller, seen);
            let body = body.inspect_err(|why| tracing::debug!(%why, "passed on as it is"));
            let (Some((seen, recognised)), Ok(body)) = (recognition.seen(), body) else {
                return (recognition, Read::Plain);
            };
            let read = match on.open(recognised.conversation).map(Seat::try_take) {
                None => Read::Plain,
                Some(Err(seat)) => Read::Waits(Box::new(Waiting {
                    seat,
                    body,
                    seen,
                    recognised,
                })),
                Some(Ok(turn)) => Read::Step(on.prepare(turn, body, (seen, &recognised), known)),
            };
            (recognition, read)
        });
        // A panic in the reading: nothing was understood.
        let (recognition, read) = reading
            .await
            .unwrap_or_else(|_| (Recognition::unread(), Read::Plain));
        let step = match read {
            Read::Plain => None,
            Read::Step(step) => Some(step),
            Read::Waits(waiting) => self.waited(layers, *waiting, facts).await,
        };
        let prepared = match step {
            Some(step) => self.stepped(step, request, &recognition, passed).await,
            None => None,
        };
        let prepared = prepared.unwrap_or_else(|| request.untouched());
        (recognition, prepared)
    }

    /// Plans a request once its turn has come.
    async fn waited(&self, layers: &Arc<Layers>, waiting: Waiting, facts: Facts) -> Option<Step> {
        let turn = waiting.seat.take().await?;
        let on = Arc::clone(layers);
        let (body, seen, recognised) = (waiting.body, waiting.seen, waiting.recognised);
        let step =
            tokio::task::spawn_blocking(move || on.prepare(turn, body, (seen, &recognised), facts));
        step.await.ok()
    }

    /// The body that a step ends in; `None` after a panic.
    ///
    /// A question is asked by a task of its own: a client that leaves meanwhile has paid for it all the
    /// same, so that its answer is kept for the retry and its price is booked.
    async fn stepped(
        self: &Arc<Self>,
        step: Step,
        request: &Layered<'_>,
        recognition: &Recognition,
        passed: &HeaderMap,
    ) -> Option<Prepared> {
        let (task, question) = match step {
            Step::Send(prepared) => return Some(*prepared),
            Step::Ask(task, question) => (task, question),
        };
        let (sender, receiver) = oneshot::channel();
        let (shared, path, headers) = (Arc::clone(self), request.path.clone(), passed.clone());
        let (caller, recognition) = (request.caller.clone(), recognition.clone());
        let (id, at, since) = (request.id.to_owned(), request.at, request.since);
        tokio::spawn(async move {
            let answer = shared.asked(question, &path, headers).await;
            let ended = tokio::task::spawn_blocking(move || task.answered(answer.as_ref()));
            let prepared = ended.await.ok();
            let Err(Some(prepared)) = sender.send(prepared) else {
                return;
            };
            let ms = shared.clock.ticks().since(since).as_millis();
            let exchange = Exchange {
                request: id,
                at,
                ms: u64::try_from(ms).unwrap_or(u64::MAX),
                status: 0,
                ended: Ended::ClientGone,
                sent: 0,
                received: 0,
                beside: prepared.beside,
                untouched: None,
            };
            shared.relay.book(&caller, recognition, None, exchange);
        });
        receiver.await.ok().flatten()
    }

    /// Another body for a request that the upstream refused as too long: with a summary in place of its
    /// beginning. `None` if there is none, or it could not be saved.
    async fn shortened(
        self: &Arc<Self>,
        layers: &Arc<Layers>,
        request: &Layered<'_>,
        recognition: &Recognition,
        (sent, passed): (&Bytes, &HeaderMap),
    ) -> Option<Prepared> {
        let (seen, recognised) = recognition.seen()?;
        let (on, bytes) = (Arc::clone(layers), request.body.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let body = Body::read(&bytes).ok()?;
            Some((on.open(recognised.conversation)?, body))
        });
        let (seat, body) = reading.await.ok()??;
        let waiting = Waiting {
            seat,
            body,
            seen,
            recognised,
        };
        let facts = request.facts(self.reads, true);
        let step = self.waited(layers, waiting, facts).await?;
        let prepared = self.stepped(step, request, recognition, passed).await?;
        (prepared.body != *sent).then_some(prepared)
    }

    /// The body of a question about a prompt's length, as the message would be sent.
    pub(crate) async fn counted(&self, layers: &Arc<Layers>, request: &Layered<'_>) -> Bytes {
        let facts = request.facts(self.reads, false);
        let (relay, on) = (Arc::clone(&self.relay), Arc::clone(layers));
        let (bytes, caller) = (request.body.clone(), request.caller.clone());
        let counting = tokio::task::spawn_blocking(move || {
            let (seen, body) = Body::of(&bytes, Seen::divide(&bytes).ok()?);
            let seat = on.open(relay.find(&caller, &seen)?)?;
            Some(on.counted(&seat, &body.ok()?, &seen, &facts))
        });
        let counted = counting.await.ok().flatten();
        counted.unwrap_or_else(|| request.body.clone())
    }

    /// Asks a question of our own upstream, once; `None` if there is no answer.
    async fn asked(
        &self,
        question: Bytes,
        path: &PathAndQuery,
        headers: HeaderMap,
    ) -> Option<Observed> {
        let asking = async {
            let sent = self
                .upstream
                .send(Method::POST, path, headers, Upload::whole(question))
                .await;
            let reply = sent
                .inspect_err(|why| tracing::info!(why, "no summary"))
                .ok()?;
            let (head, mut body) = reply.into_parts();
            let mut bytes = BytesMut::new();
            while let Some(frame) = body.frame().await {
                if let Ok(data) = frame.ok()?.into_data() {
                    bytes.extend_from_slice(&data);
                }
                if bytes.len() > LONGEST_ANSWER {
                    return None;
                }
            }
            if head.status != StatusCode::OK {
                tracing::info!(status = head.status.as_u16(), "no summary");
                return None;
            }
            let kind = head.headers.get(CONTENT_TYPE)?.to_str().ok()?;
            let mut observer = Observer::new(kind);
            observer.feed(&bytes);
            observer.end()
        };
        let asked = tokio::time::timeout(self.limits.silence, asking).await;
        asked.ok().flatten()
    }
}

/// The beginning of a refusal's body, which is short as a rule.
async fn beginning(body: &mut Incoming) -> Bytes {
    let mut bytes = BytesMut::new();
    while bytes.len() < LONGEST_REFUSAL
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    bytes.freeze()
}

/// True if a refusal says that the prompt does not fit the model's window.
fn is_too_long(refusal: &[u8]) -> bool {
    let value: serde_json::Value = serde_json::from_slice(refusal).unwrap_or_default();
    let message = value["error"]["message"].as_str().unwrap_or_default();
    value["error"]["type"] == "invalid_request_error"
        && (message.starts_with("prompt is too long") || message.contains("exceed context limit"))
}

/// Names of betas, from all headers that list some.
fn betas(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all("anthropic-beta").iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let names = texts.flat_map(|text| text.split(','));
    names.map(|name| name.trim().to_owned()).collect()
}
