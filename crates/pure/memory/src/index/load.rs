//! What of the index gets into the prompt.

/// How much of it at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lines; cut first.
    pub lines: usize,
    /// Bytes of what is left; cut at the last newline before.
    pub bytes: usize,
}

/// What was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cut {
    /// Lines that are shown.
    pub lines_shown: usize,
    /// Lines there are.
    pub lines: usize,
    /// Bytes that are shown.
    pub bytes_shown: usize,
    /// Bytes there are.
    pub bytes: usize,
}

/// The index as the prompt has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The text, with a warning at its end if something was left out.
    pub text: String,
    /// What was left out.
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
    if !loaded.is_empty() && !loaded.ends_with('\n') {
        loaded.push('\n');
    }
    loaded.push_str(&warning(&cut, limits));
    Loaded {
        text: loaded,
        cut: Some(cut),
    }
}

/// The text up to the last newline before the limit; if its first line is longer, a part of that.
fn within(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let end = text.floor_char_boundary(limit);
    match text[..end].rfind('\n') {
        Some(newline) => &text[..=newline],
        None => &text[..end],
    }
}

fn warning(cut: &Cut, limits: Limits) -> String {
    format!(
        "> Warning: MEMORY.md is too long, only {} of its {} lines ({} of {} bytes) are shown here. The \
         limits are {} lines and {} bytes. Keep one short line a memory, move detail into topic files, \
         and remove lines of memories that are gone; `dormouse memory index` does it.\n",
        cut.lines_shown, cut.lines, cut.bytes_shown, cut.bytes, limits.lines, limits.bytes
    )
}

/// A remark for whoever writes, when the index nears its limits: the newest lines, at the end, would
/// be the first to vanish.
pub fn nearness(text: &str, limits: Limits) -> Option<String> {
    /// From this share of a limit on.
    const NEAR_PERCENT: usize = 90;
    let lines = text.lines().count();
    let near = |have: usize, limit: usize| have * 100 >= limit * NEAR_PERCENT;
    if !near(lines, limits.lines) && !near(text.len(), limits.bytes) {
        return None;
    }
    Some(format!(
        "MEMORY.md has {lines} of {} lines and {} of {} bytes; what goes beyond is not loaded. Shorten or \
         merge entries (`dormouse dream`, `dormouse memory index`).",
        limits.lines,
        text.len(),
        limits.bytes
    ))
}
