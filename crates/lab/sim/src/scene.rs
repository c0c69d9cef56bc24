//! The scene of a request: all that an answer of the persona depends on.
//!
//! # Not here
//! The persona ([`crate::persona`]) and the texts it writes on order ([`crate::scribe`]).

use crate::blocks::{Block, Kind, Place};
use crate::config::SimConfig;
use crate::keys;
use crate::persona::{Offer, Scene};
use crate::prompt::{ASSISTANT, Item, Prompt, USER};
use crate::read::Rules;
use crate::request::{Request, Role};
use crate::scribe;
use bytes::Bytes;
use dormouse_core::models::ModelInfo;
use std::borrow::Cow;

impl Rules {
    /// The scene of a request that was read from a text.
    pub(crate) fn scene(
        &self,
        text: &Bytes,
        request: &Request<'_>,
        model: &ModelInfo,
        items: &[Item<'_>],
        prompt: &Prompt,
    ) -> Scene {
        let own_words = request.messages.iter().rposition(|message| {
            let mut kinds = message.content.iter().map(|block| block.kind);
            message.role == Role::User && kinds.any(|kind| kind != Kind::ToolResult)
        });
        // A turn begins with the user's own words; results alone continue it.
        let since = &request.messages[own_words.map_or(0, |at| at + 1)..];
        let answers = since.iter().filter(|message| message.role == Role::User);
        let offers = request
            .tools
            .iter()
            // The provider runs web tools itself; a toolset has no name to call.
            .filter(|tool| !tool.web && !tool.name.is_empty())
            .map(|tool| Offer {
                name: tool.name.clone().into_owned(),
                definition: text.slice_ref(tool.raw.get().as_bytes()),
            });
        let scene = Scene {
            offers: offers.collect(),
            choice: request.tool_choice.clone(),
            rounds: answers.count() as u64,
            thinks: keys::thinks(request, model) && !items.is_empty(),
            prompt: prompt
                .positions
                .last()
                .map_or(prompt.system_end, |position| position.digest),
            written: None,
            body: text.clone(),
        };
        let last = last_words(request);
        let words = last.and_then(|(_, block)| block.words());
        let said = || said(request, items, last.map(|(place, _)| place));
        let SimConfig { seed, answers, .. } = &self.config;
        scene.with_order(*seed, answers, words.as_deref(), said)
    }
}

/// The text that ends the conversation, if a user said it and it may order something.
fn last_words<'a, 'b>(request: &'b Request<'a>) -> Option<(Place, &'b Block<'a>)> {
    let mut messages = request.messages.iter().enumerate().rev();
    // System messages in between are the host's, not the user's order.
    let (at, last) = messages.find(|(_, message)| message.role != Role::System)?;
    let mut blocks = last.content.iter().enumerate().rev();
    let (index, block) = blocks.find(|(_, block)| block.kind == Kind::Text)?;
    let place = Place::Block {
        message: at,
        block: index,
    };
    let may = last.role == Role::User && scribe::may_order(block.raw_words());
    may.then_some((place, block))
}

/// Texts of users and assistants, as far as the model gets to read them, but for one block.
fn said<'a>(
    request: &'a Request<'_>,
    items: &[Item<'_>],
    without: Option<Place>,
) -> Vec<Cow<'a, str>> {
    let words = |item: &Item<'_>| {
        let Place::Block { message, block } = item.place else {
            return None;
        };
        let block = request.messages.get(message)?.content.get(block)?;
        match item.kind {
            Kind::Text if item.tag == USER || item.tag == ASSISTANT => block.words(),
            Kind::Compaction => block.text("content"),
            _ => None,
        }
    };
    let items = items.iter().filter(|item| Some(item.place) != without);
    items.filter_map(words).collect()
}
