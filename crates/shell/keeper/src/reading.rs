//! A question about a page of the web, answered by the small model.
//!
//! # Model
//! The page is a stranger's text: it stands in front, the question behind it, and the system prompt
//! says whose words count. A page that does not fit the model's window is cut, and the answer says
//! so. The answer stays the tool's word, whatever it claims.
//!
//! # Not here
//! Fetching the page (`dormouse-tools`). The budget of background work: a person's turn waits for
//! this answer, and its session pays.

use crate::once;
use crate::side::NoAnswer;
use dormouse_context::question;
use dormouse_core::block::Block;
use dormouse_core::record::UsageReport;
use dormouse_core::units::Tokens;
use dormouse_engine::{Asker, Purpose};
use dormouse_model::{ModelError, Params, Request};
use std::time::Duration;

const SYSTEM_PROMPT: &str = include_str!("reading.md");
/// Longest answer: a page or two of facts. More would be the page itself.
const ANSWER: Tokens = Tokens(2_000);
/// Time for the answer; a turn waits for it.
const TIME: Duration = Duration::from_mins(1);
/// Tokens of system prompt, question and the request's own members.
const AROUND: u64 = 2_000;
/// Bytes of page for each token of room: texts have three to four, and two is safe for code and
/// other scripts.
const BYTES_PER_TOKEN: u64 = 2;
/// Most bytes of a page that are read: an article of this length has a table of contents to go by.
const MOST: usize = 400_000;

/// A page and the question about it.
#[derive(Clone, Copy, Debug)]
pub struct PageQuestion<'a> {
    /// Address of the page.
    pub url: &'a str,
    /// Text of the page.
    pub page: &'a str,
    /// Question of the model in the conversation.
    pub question: &'a str,
}

/// Reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    /// The request to the small model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Answer that is none.
    #[error(transparent)]
    Answer(#[from] NoAnswer),
    /// Parameters that are no JSON.
    #[error("the question cannot be written down")]
    Body(#[from] serde_json::Error),
    /// The small model did not answer in time.
    #[error("the small model took longer than {} seconds", TIME.as_secs())]
    TooSlow,
}

/// Asks a model about a page; returns its answer and its usage.
///
/// # Errors
/// When the model does not answer, or not in time.
pub async fn read_page(
    asker: &dyn Asker,
    model: &str,
    asked: PageQuestion<'_>,
    seed: u64,
) -> Result<(String, UsageReport), ReadingError> {
    let params = Params::new(model, ANSWER)?;
    let window = asker.capabilities(model).window.get();
    let room = window.saturating_sub(ANSWER.get() + AROUND) * BYTES_PER_TOKEN;
    let most = usize::try_from(room).unwrap_or(usize::MAX).min(MOST);
    let page = &asked.page[..asked.page.floor_char_boundary(most)];
    let cut = page.len() < asked.page.len();
    let text = format!(
        "The page {}{}:\n\n{page}\n\n---\nThe page ends here. The question:\n{}",
        asked.url,
        if cut { ", its beginning" } else { "" },
        asked.question
    );
    let body = question::body(&params.to_json()?, SYSTEM_PROMPT, &text)?;
    let request = Request::streamed(body);
    let answered = tokio::time::timeout(TIME, once::ask(asker, &request, TIME, seed)).await;
    let response = answered.map_err(|_| ReadingError::TooSlow)??;
    NoAnswer::check(&response, 1)?;
    let texts = response.blocks.iter().filter_map(Block::readable_text);
    let mut answer = texts.collect::<Vec<_>>().join("\n");
    if cut {
        let (read, all) = (page.len(), asked.page.len());
        answer = format!("{answer}\n[only the first {read} of {all} bytes were read]");
    }
    let report = UsageReport {
        message: Some(response.id.clone()),
        model: response.model.to_string(),
        usage: response.billed,
        purpose: Purpose::Fork,
        cache: None,
    };
    Ok((answer, report))
}
