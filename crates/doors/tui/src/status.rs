//! The status line: mode, model, window, cache, cost, branch. Parts that do not fit are left out,
//! the last first; no meaning is told by colour alone.

use crate::line::{Line, Role};
use crate::model::Model;
use crate::text::{clip, clip_line, width};
use dormouse_core::usage::TokenUsage;

/// Sign between two parts.
const GAP: &str = " · ";

/// A number of tokens for a narrow place: `950`, `12.3k`, `1.2M`.
pub(crate) fn thousands(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..100_000 => format!("{}.{}k", tokens / 1_000, tokens % 1_000 / 100),
        100_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

/// Share of a prompt that came from the provider's cache, in percent.
pub(crate) fn cached(usage: &TokenUsage) -> Option<u64> {
    let prompt = usage.prompt().0;
    (usage.cache_read.0.saturating_mul(100)).checked_div(prompt)
}

/// Parts that fit, in their order. With `third_first` the second part gives way to the third.
fn fitting(parts: Vec<(String, Role)>, third_first: bool, columns: usize) -> Vec<(String, Role)> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    if third_first && order.len() > 2 {
        order.swap(1, 2);
    }
    let mut left = columns + width(GAP);
    let mut fits = vec![false; parts.len()];
    for at in order {
        let taken = width(&parts[at].0) + width(GAP);
        fits[at] = taken <= left;
        if fits[at] {
            left -= taken;
        }
    }
    let parts = parts.into_iter().zip(fits);
    parts
        .filter_map(|(part, fits)| fits.then_some(part))
        .collect()
}

impl Model {
    /// Tokens of the conversation, as far as they are known.
    fn used(&self) -> u64 {
        let last = self.usage.total().0;
        if last > 0 {
            last
        } else {
            self.gauge.map_or(0, |gauge| gauge.used)
        }
    }

    /// The status line at a width.
    pub(crate) fn status(&self, columns: usize) -> Line {
        let Some(session) = &self.session else {
            let state = if self.opening { "opening" } else { "no model" };
            let line = format!("{state} · {}", self.start.folder);
            return clip_line(Line::of(line, Role::Dim), columns);
        };
        let mode = if self.watching {
            "read-only".to_owned()
        } else {
            format!("{} mode", self.mode)
        };
        let mut parts: Vec<(String, Role)> = vec![(mode, Role::Accent)];
        parts.push((self.talks_to.clone(), Role::Dim));
        parts.extend(self.window());
        if !self.tasks.is_empty() {
            parts.push((format!("{} in background", self.tasks.len()), Role::Warning));
        }
        if let (usage, Some(cost)) = self.figures.all()
            && usage.total().0 > 0
        {
            parts.push((cost.to_string(), Role::Dim));
        }
        if let Some(cached) = cached(&self.usage) {
            parts.push((format!("cache {cached}%"), Role::Dim));
        }
        if let Some(branch) = &self.start.branch {
            parts.push((branch.clone(), Role::Dim));
        }
        // The part of an id that names it among those of a day.
        parts.push((clip(session.session.as_str(), 9), Role::Dim));
        // A model's name may be long and is known; the window is what people look for.
        let window_first = self.gauge.is_some();
        let mut line = Line::default();
        for (text, role) in fitting(parts, window_first, columns) {
            let gap = if line.spans.is_empty() { "" } else { GAP };
            line = line.with(gap, Role::Dim).with(text, role);
        }
        clip_line(line, columns)
    }

    /// The window in figures, with a word for its state.
    fn window(&self) -> Vec<(String, Role)> {
        let used = self.used();
        let Some(gauge) = self.gauge.filter(|gauge| gauge.window > 0) else {
            return vec![(format!("{} tokens", thousands(used)), Role::Dim)];
        };
        let percent = used.saturating_mul(100) / gauge.window;
        let (word, role) = if gauge.blocked > 0 && used >= gauge.blocked {
            (" blocked", Role::Bad)
        } else if gauge.warning > 0 && used >= gauge.warning {
            (" nearly full", Role::Warning)
        } else {
            ("", Role::Dim)
        };
        let mut parts = vec![(
            format!(
                "{}/{} {percent}%{word}",
                thousands(used),
                thousands(gauge.window)
            ),
            role,
        )];
        if let Some(at) = gauge.compact_at {
            let left = at.saturating_sub(used);
            parts.push((format!("compacts in {}", thousands(left)), Role::Dim));
        }
        parts
    }

    /// The line that is printed at the end: cost, cache, how to go on.
    pub fn farewell(&self) -> Option<String> {
        if self.tour.is_some() {
            // Its folder is gone with it.
            return Some("that was the demo; `dormouse` opens the agent here".to_owned());
        }
        let session = self.session.as_ref().filter(|_| !self.watching)?;
        let (usage, cost) = self.figures.all();
        if usage.total().0 == 0 {
            return None;
        }
        let mut parts = Vec::new();
        parts.extend(cost.map(|cost| cost.to_string()));
        parts.push(format!("{} tokens", thousands(usage.total().0)));
        parts.extend(cached(&usage).map(|cached| format!("cache {cached}%")));
        parts.push(format!("go on: dormouse --resume {}", session.session));
        Some(parts.join(" · "))
    }
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn tokens_are_short() {
        let shown = [950, 1_000, 12_345, 123_456, 1_250_000].map(thousands);
        assert_eq!(shown, ["950", "1.0k", "12.3k", "123k", "1.2M"]);
    }
}
