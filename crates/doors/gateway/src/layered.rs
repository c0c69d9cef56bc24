//! A request on its way through the layers.
//!
//! The door waits for the recognition, has the body written, and asks the question of a compaction
//! upstream. Whatever fails on the way, the request is sent as it came.

use crate::answer::Shared;
use bytes::{Bytes, BytesMut};
use dormouse_core::units::Millis;
use dormouse_relay::{Facts, Layers, Observed, Observer, Prepared, Recognition, Step};
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap};
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Most bytes of the answer to a question: a summary has some ten thousand, as events some ten times
/// that.
const LONGEST_ANSWER: usize = 8 * 1024 * 1024;

/// A request as the layers take it.
pub(crate) struct Layered<'a> {
    pub(crate) body: &'a Bytes,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) path: &'a PathAndQuery,
    pub(crate) at: Millis,
}

impl Shared {
    /// Passes a request through the layers. Returns its recognition, to be booked, and its body.
    pub(crate) async fn layered(
        &self,
        layers: &Arc<Layers>,
        reading: oneshot::Receiver<Recognition>,
        request: Layered<'_>,
        passed: &mut HeaderMap,
    ) -> (oneshot::Receiver<Recognition>, Prepared) {
        // A compressed reply could not be measured, and the next plan rests on it.
        passed.remove(ACCEPT_ENCODING);
        // Without a recognition, because reading panicked, nothing was understood.
        let recognition = reading.await.unwrap_or_else(|_| Recognition::unread());
        let seen = recognition.seen();
        let (answer, receiver) = oneshot::channel();
        drop(answer.send(recognition));
        let untouched = || Prepared::untouched(request.body.clone());
        let Some((seen, recognised)) = seen else {
            return (receiver, untouched());
        };
        let Some(turn) = layers.turn(&recognised).await else {
            return (receiver, untouched());
        };
        let facts = Facts {
            local: self.is_local,
            betas: betas(request.headers),
            now: request.at,
        };
        let (preparing, body) = (Arc::clone(layers), request.body.clone());
        let step = tokio::task::spawn_blocking(move || {
            preparing.prepare(turn, &body, (seen, &recognised), facts)
        });
        let prepared = match step.await {
            Ok(Step::Send(prepared)) => *prepared,
            Ok(Step::Ask(task, question)) => {
                let answer = self.asked(question, request.path, passed.clone()).await;
                let ended = tokio::task::spawn_blocking(move || task.answered(answer.as_ref()));
                ended.await.unwrap_or_else(|_| untouched())
            }
            Err(_) => untouched(),
        };
        (receiver, prepared)
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
                .send(Method::POST, path, headers, question)
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

/// Names of betas, from all headers that list some.
fn betas(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all("anthropic-beta").iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let names = texts.flat_map(|text| text.split(','));
    names.map(|name| name.trim().to_owned()).collect()
}
