//! Choice of the small model, made beside the conversation.

use super::Brought;
use super::shelf::Shelf;
use crate::keeper::Keeper;
use crate::once;
use dormouse_context::question;
use dormouse_core::block::Block;
use dormouse_core::units::Tokens;
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_model::{Params, Request, features};
use dormouse_recall::selector::{self, SelectorRequest};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Time for the small model to choose; a later choice finds no tool results to go in with.
const TIME: Duration = Duration::from_secs(10);
/// Longest answer of the small model: the names of as many memories as ever go in at once.
const ANSWER: Tokens = Tokens(256);

/// Choice that is being made, or was.
#[derive(Debug)]
pub(super) struct Selection {
    shelf: Shelf,
    cards: Vec<Card>,
    answer: oneshot::Receiver<Vec<SafePath>>,
    chosen: Option<Vec<SafePath>>,
}

impl Selection {
    /// True once the model has chosen.
    pub(super) fn is_ready(&mut self) -> bool {
        if self.chosen.is_none() {
            self.chosen = self.answer.try_recv().ok();
        }
        self.chosen.is_some()
    }

    pub(super) fn into_parts(self) -> (Shelf, Vec<Card>, Vec<SafePath>) {
        (self.shelf, self.cards, self.chosen.unwrap_or_default())
    }
}

/// Asks the small model, if there is one and the day's budget allows it. Dropping the selection drops
/// the answer; a fault of the model is no choice, and the ranker's own picks are shown already.
pub(super) fn ask(keeper: &Arc<Keeper>, found: Brought, prompt: &str) -> Option<Selection> {
    let (most, candidates) = (found.room, found.surfacing.candidates);
    // Without a runtime no answer could arrive.
    let runtime = tokio::runtime::Handle::try_current().ok()?;
    if most == 0 || keeper.background_model().is_err() {
        return None;
    }
    let offered: Vec<Card> = candidates
        .iter()
        .filter_map(|path| found.cards.iter().find(|card| card.path == *path).cloned())
        .collect();
    let request = selector::request(prompt, &offered, most);
    let (send, answer) = oneshot::channel();
    let asking = Arc::clone(keeper);
    runtime.spawn(async move {
        let mut send = send;
        tokio::select! {
            // The turn is over: its selection was dropped.
            () = send.closed() => {}
            chosen = choose(&asking, request, &candidates, most) => {
                let _late = send.send(chosen);
            }
        }
    });
    Some(Selection {
        shelf: found.shelf,
        cards: found.cards,
        answer,
        chosen: None,
    })
}

async fn choose(
    keeper: &Keeper,
    request: SelectorRequest,
    candidates: &[SafePath],
    most: usize,
) -> Vec<SafePath> {
    let answered = tokio::time::timeout(TIME, answer(keeper, &request, TIME)).await;
    let Ok(Some(text)) = answered else {
        return Vec::new();
    };
    match selector::parse(&text, candidates, most) {
        selector::Selection::Selected(paths) => paths,
        selector::Selection::Fallback(_) => Vec::new(),
    }
}

async fn answer(keeper: &Keeper, request: &SelectorRequest, limit: Duration) -> Option<String> {
    let model = keeper.background_model().ok()?;
    let mut params = Params::new(&model.small, ANSWER).ok()?;
    let capabilities = model.small_model.capabilities(&model.small);
    // If the provider cannot enforce a schema, the answer is read leniently.
    if let Ok(schema) = features::json_schema(&request.schema, &capabilities) {
        params = params.with(schema);
    }
    let betas = params.betas().to_vec();
    let body = question::body(&params.to_json().ok()?, &request.system, &request.user).ok()?;
    let asker = keeper.asker(&model.small_model, &model.small);
    let request = Request::streamed(body).with_betas(&betas);
    // Two clients that fail together are unlikely to start in the same millisecond.
    let seed = keeper.now().0.unsigned_abs();
    let response = once::ask(&*asker, &request, limit, seed).await.ok()?;
    let texts: Vec<String> = response
        .blocks
        .iter()
        .filter_map(Block::readable_text)
        .collect();
    Some(texts.join("\n"))
}
