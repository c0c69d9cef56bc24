//! Part of the index that gets into the prompt.

use dormouse_core::settings::{Settings, keys};

/// Limits of that part, from `memory.index.lines` and `memory.index.bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most lines; applied first.
    pub lines: usize,
    /// Most bytes of the remaining lines; cut at the last newline before.
    pub bytes: usize,
}

impl Limits {
    /// Reads the limits from the settings.
    pub fn from_settings(settings: &Settings) -> Self {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            lines: size(settings.get(keys::MEMORY_INDEX_LINES)),
            bytes: size(settings.get(keys::MEMORY_INDEX_BYTES)),
        }
    }
}

/// Figures of a cut, for the warning and for callers that report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cut {
    /// Lines in the prompt.
    pub lines_shown: usize,
    /// Lines of the whole index.
    pub lines: usize,
    /// Bytes in the prompt, without the warning.
    pub bytes_shown: usize,
    /// Bytes of the whole index.
    pub bytes: usize,
}

/// Index as the prompt has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Text, with a warning at its end if lines were left out.
    pub text: String,
    /// Figures of the cut; `None` if everything fits.
    pub cut: Option<Cut>,
}

/// Cuts the index to its limits: to lines first, then to bytes.
pub fn load(text: &str, limits: Limits) -> Loaded {
    let lines = text.lines().count();
    let shown: &str = match text.split_inclusive('\n').nth(limits.lines) {
        Some(_) => {
            let kept = text.split_inclusive('\n').take(limits.lines);
            &text[..kept.map(str::len).sum()]
        }
        None => text,
    };
    let shown = within(shown, limits.bytes);
    if shown.len() == text.len() {
        return Loaded {
            text: text.to_owned(),
            cut: None,
        };
    }
    let cut = Cut {
        lines_shown: shown.lines().count(),
        lines,
        bytes_shown: shown.len(),
        bytes: text.len(),
    };
    let mut loaded = shown.to_owned();
    // The warning must not become the end of a half line.
    if !loaded.is_empty() && !loaded.ends_with('\n') {
        loaded.push('\n');
    }
    loaded.push_str(&warning(&cut, limits));
    Loaded {
        text: loaded,
        cut: Some(cut),
    }
}

/// Text up to the last newline before the limit; if its first line is longer, a part of that.
fn within(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let end = text.floor_char_boundary(limit);
    match text[..end].rfind('\n') {
        Some(newline) => &text[..=newline],
        // One endless line: half of it is better than an empty index.
        None => &text[..end],
    }
}

fn warning(cut: &Cut, limits: Limits) -> String {
    format!(
        "> Warning: MEMORY.md is too long, only {} of its {} lines ({} of {} bytes) are shown here. The \
         limits are {} lines and {} bytes. Keep one short line a memory and move detail into topic \
         files; `dormouse memory check` says which lines can go.\n",
        cut.lines_shown, cut.lines, cut.bytes_shown, cut.bytes, limits.lines, limits.bytes
    )
}

/// Remark for the writer of a memory when the index nears its limits: the newest lines, at the end,
/// would be the first to vanish.
pub fn nearness(text: &str, limits: Limits) -> Option<String> {
    /// Share of a limit at which the remark begins: with the default of 200 lines, twenty more
    /// memories before anything is lost.
    const NEAR_PERCENT: usize = 90;
    let lines = text.lines().count();
    let near = |have: usize, limit: usize| have * 100 >= limit * NEAR_PERCENT;
    if !near(lines, limits.lines) && !near(text.len(), limits.bytes) {
        return None;
    }
    Some(format!(
        "MEMORY.md has {lines} of {} lines and {} of {} bytes; what goes beyond is not loaded. Merge \
         memories (`dormouse dream`), or shorten lines of your own.",
        limits.lines,
        text.len(),
        limits.bytes
    ))
}
