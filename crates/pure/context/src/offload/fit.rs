//! A round that does not fit the window: which of its results are cut, and how far.
//!
//! # Model
//! Every result of the round has up to three forms: whole, its preview, and a line that names the
//! file. The largest results are cut first, to previews; if all previews are still too long, the
//! largest of them become lines. Results of tools that read files are not exempt here: without the
//! cut the request is refused, and the session with it.
//!
//! # Not here
//! The size of the window and of everything beside the results (the driver), writing files and
//! records.

use super::preview;
use crate::clear::Measure;
use crate::segment::Segment;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::BlockKey;
use dormouse_core::units::Tokens;

/// A result that is to be replaced because the round does not fit.
#[derive(Clone, Debug, PartialEq)]
pub struct CutResult {
    /// Address of the result.
    pub key: BlockKey,
    /// Block that replaces it.
    pub block: Block,
    /// Name of the file in the session's folder of results; `None` if it could not be written.
    pub file: Option<String>,
    /// Hash of the whole text.
    pub content: Hash,
    /// Text to save before the record is appended; `None` if the file exists.
    pub text: Option<String>,
}

impl CutResult {
    /// Replaces the block by the truncated text, because the file could not be written. Returns the
    /// name of the file.
    pub fn not_saved(&mut self, why: &str, bytes: u64) -> Option<String> {
        let media = preview::media_of(&self.block);
        if let Some((call, text)) = self.block.call().zip(self.text.take()) {
            let text = preview::truncated(&text, why, bytes);
            self.block = preview::result_block(call, &text, &media, self.block.is_error());
        }
        self.file.take()
    }
}

/// One result with its shorter forms, longest first.
struct Loose {
    tokens: Tokens,
    shorter: Vec<(Tokens, CutResult)>,
    /// Number of forms it was shortened by.
    cut: usize,
}

/// Chooses the results to cut so that `excess` tokens are saved, or all that can be cut if that is
/// not enough. `folder` is the folder of results as the model is shown it, `bytes` the length of a
/// preview.
pub fn fit<'a>(
    results: impl IntoIterator<Item = &'a Segment>,
    excess: Tokens,
    measure: Measure,
    (folder, bytes): (&str, u64),
) -> Vec<CutResult> {
    let mut loose: Vec<Loose> = results
        .into_iter()
        .filter(|segment| {
            segment.derived.is_none() && segment.block.kind() == BlockKind::ToolResult
        })
        .filter_map(|segment| forms(segment, measure, folder, bytes))
        .collect();
    let mut saved = Tokens::ZERO;
    // Previews of all results before the first line: a preview tells what the file is about.
    for step in 1..=2 {
        while saved < excess {
            let next = loose
                .iter_mut()
                .filter(|one| one.cut < step.min(one.shorter.len()))
                .max_by_key(|one| one.tokens);
            let Some(one) = next else {
                break;
            };
            let shorter = one.shorter[one.cut].0;
            saved += one.tokens - shorter;
            one.tokens = shorter;
            one.cut += 1;
        }
    }
    let cut = loose.into_iter().filter_map(|mut one| {
        let at = one.cut.checked_sub(1)?;
        Some(one.shorter.swap_remove(at).1)
    });
    cut.collect()
}

/// Shorter forms of a result; `None` if it has none.
fn forms(segment: &Segment, measure: Measure, folder: &str, bytes: u64) -> Option<Loose> {
    let block = &segment.block;
    let call = block.call()?;
    let text = block.readable_text().unwrap_or_default();
    let media = preview::media_of(block);
    let tokens = measure.tokens(block.weight());
    // A preview names the file with the whole text already; only its line is shorter.
    let earlier = preview::saved_at(&text, folder).map(str::to_owned);
    let content = Hash::of(text.as_bytes());
    let file = match &earlier {
        Some(path) => path.rsplit('/').next().unwrap_or_default().to_owned(),
        None => preview::file_name(call, &text, content),
    };
    let path = earlier
        .clone()
        .unwrap_or_else(|| format!("{folder}/{file}"));
    let texts = [
        earlier
            .is_none()
            .then(|| preview::preview(&text, &path, bytes)),
        Some(preview::line(&text, &path)),
    ];
    let mut shorter: Vec<(Tokens, CutResult)> = Vec::with_capacity(2);
    for form in texts.into_iter().flatten() {
        let block = preview::result_block(call, &form, &media, block.is_error());
        let size = measure.tokens(block.weight());
        let least = shorter.last().map_or(tokens, |(size, _)| *size);
        if size < least {
            let cut = CutResult {
                key: segment.origin,
                block,
                file: Some(file.clone()),
                content,
                text: earlier.is_none().then(|| text.clone()),
            };
            shorter.push((size, cut));
        }
    }
    (!shorter.is_empty()).then_some(Loose {
        tokens,
        shorter,
        cut: 0,
    })
}
