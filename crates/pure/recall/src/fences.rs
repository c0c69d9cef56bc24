//! Fenced code in a memory.
//!
//! # Not here
//! Boundaries and turns in a memory's text (`dormouse_core::fragment`).

/// Follows fenced code from line to line.
#[derive(Debug, Default)]
pub(super) struct Fences {
    open: Option<&'static str>,
}

impl Fences {
    /// True if the next line is code or a fence.
    pub(super) fn cover(&mut self, line: &str) -> bool {
        let start = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| start.starts_with(mark));
        match (self.open, mark) {
            (None, None) => return false,
            (None, Some(mark)) => self.open = Some(mark),
            (Some(open), Some(mark)) if open == mark => self.open = None,
            (Some(_), _) => {}
        }
        true
    }
}

/// A text without its fenced code.
pub(super) fn without_fences(text: &str) -> String {
    let mut fences = Fences::default();
    text.split_inclusive('\n')
        .filter(|line| !fences.cover(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::without_fences;

    #[test]
    fn fenced_code_is_left_out() {
        assert_eq!(without_fences("a\n```\nb\n```\nc\n"), "a\nc\n");
    }
}
