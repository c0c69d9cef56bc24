//! Work of the layers, as the lines of a log tell it, in their order.
//!
//! # Model
//! Each line gives at most one event: a prompt of the user, a response with its figures, something
//! that a layer did. Logs of Claude Code have prompts, responses and compactions; ours have the
//! rest. Names and figures in the user's prompts are collected, and at each compaction they are
//! looked for in its summary and in the messages that stay.
//!
//! # Not here
//! Sums, prices, days: the host.

use crate::scan_line::ScanLine;
use crate::summary::said_by_user;
use dormouse_core::id::Seq;
use dormouse_core::json::Text;
use dormouse_core::record::{
    BoundaryKind, Clearing, Distillation, LayoutRun, LineRun, Notes, Purpose, Trigger,
};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::ResponseKey;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// Name of the fact by which an agent records the time that the engine took for a turn.
pub const ENGINE_TIME: &str = "engine.time";

/// Names and figures of the user's that are followed in one log: enough for months of prompts,
/// and a paste of a whole file ends there.
const MOST_FACTS: usize = 2_000;
/// Least and most characters of one: shorter ones turn up by chance, longer ones are data.
const FACT_LENGTH: std::ops::RangeInclusive<usize> = 4..=120;

/// Something that a line tells.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEvent {
    /// Time of the line, if it has one.
    pub at: Option<Millis>,
    /// Work that the event tells of.
    pub what: LogWork,
}

/// Work that a line tells of.
#[derive(Clone, Debug, PartialEq)]
pub enum LogWork {
    /// Message of the user, which begins a turn.
    Prompt,
    /// Response with its figures.
    Response {
        /// Identity, so that a copy in another file counts once.
        key: ResponseKey,
        /// Model that gave the answer.
        model: String,
        /// Tokens by billing category.
        usage: TokenUsage,
        /// Purpose of the request.
        purpose: Purpose,
    },
    /// Result that went into a file.
    Offloaded {
        /// File in the session's folder of results; in older logs its blob.
        file: Option<String>,
        /// Hash of the whole result.
        blob: String,
        /// Bytes of the preview that stays.
        preview: u64,
    },
    /// Results that became distillates, with the tokens freed.
    Distilled(Tokens),
    /// Results that were cleared, with the tokens freed.
    Cleared(Tokens),
    /// Update of the session notes.
    Notes,
    /// Compaction of the conversation.
    Compacted {
        /// Source of the summary.
        kind: BoundaryKind,
        /// Cause of the compaction.
        trigger: Trigger,
        /// Tokens freed, where both lengths are known.
        freed: Option<Tokens>,
        /// Names and figures of the user's up to there, and those that are still in the prompt.
        facts: Option<(u64, u64)>,
    },
    /// Memories that were shown to the model.
    Surfaced(u64),
    /// Dream that ran during the session.
    Dream,
    /// Time of the engine in a turn, in microseconds.
    Engine(u64),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReplacementLine<'a> {
    #[serde(borrow)]
    decision: ReplacementDecision<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReplacementDecision<'a> {
    Replaced {
        #[serde(borrow)]
        preview: &'a RawValue,
        #[serde(borrow)]
        blob: Text<'a>,
        #[serde(borrow, default)]
        file: Text<'a>,
    },
    Left,
}

#[derive(Deserialize)]
struct BoundaryLine<'a> {
    trigger: Trigger,
    kind: BoundaryKind,
    #[serde(default)]
    pre_tokens: Option<Tokens>,
    #[serde(default)]
    post_tokens: Option<Tokens>,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    restored: Option<&'a RawValue>,
    #[serde(default)]
    text: Vec<String>,
    #[serde(default)]
    spliced: Vec<Vec<LineRun>>,
    #[serde(default)]
    manifest: Option<Kept>,
}

/// Records that a manifest keeps.
#[derive(Default, Deserialize)]
struct Kept {
    #[serde(default)]
    frozen: Vec<LayoutRun>,
    #[serde(default)]
    incoming: Vec<LayoutRun>,
}

impl Kept {
    fn has(&self, seq: Seq) -> bool {
        let mut runs = self.frozen.iter().chain(&self.incoming);
        runs.any(|run| (run.record..=run.last_record.unwrap_or(run.record)).contains(&seq))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactMetadata<'a> {
    #[serde(borrow, default)]
    trigger: Text<'a>,
    #[serde(default)]
    pre_tokens: Option<u64>,
    #[serde(default)]
    post_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct FactLine<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    value: Option<&'a RawValue>,
}

/// Collects the events of one file.
#[derive(Debug, Default)]
pub(crate) struct EventNoter {
    pub(crate) events: Vec<LogEvent>,
    /// Names and figures of the user's, with the record that had them last.
    facts: BTreeMap<String, Option<Seq>>,
    /// Lines that boundaries of this log wrote; later ones refer to them.
    texts: BTreeMap<Seq, Vec<String>>,
    /// Compaction of another tool whose summary has not come yet.
    open: Option<usize>,
}

impl EventNoter {
    /// Takes a response; further lines of the same one replace its figures.
    pub(crate) fn response(
        &mut self,
        key: &ResponseKey,
        model: &str,
        usage: TokenUsage,
        purpose: Purpose,
        at: Option<Millis>,
    ) {
        let last = self.events.iter_mut().rev().take(8).find_map(|event| {
            // The record of the figures follows the blocks of its answer closely.
            match &mut event.what {
                LogWork::Response {
                    key: known,
                    usage,
                    purpose,
                    ..
                } if known == key => Some((usage, purpose)),
                _ => None,
            }
        });
        match last {
            Some((known, known_purpose)) => {
                if usage.supersedes(known) {
                    *known = usage;
                }
                if !purpose.is_turn() {
                    *known_purpose = purpose;
                }
            }
            None => self.events.push(LogEvent {
                at,
                what: LogWork::Response {
                    key: key.clone(),
                    model: model.to_owned(),
                    usage,
                    purpose,
                },
            }),
        }
    }

    /// Takes a line without figures.
    pub(crate) fn line(&mut self, line: &ScanLine<'_>) {
        let at = line.timestamp.0.as_deref().and_then(Millis::parse);
        let what = match (line.kind.0.as_deref(), line.subtype.0.as_deref()) {
            (Some("dormouse"), Some(subtype)) => {
                let Some(raw) = line.dormouse else { return };
                Self::own(subtype, raw.get())
            }
            (_, Some("compact_boundary")) => {
                let own = line.dormouse.map(|raw| serde_json::from_str(raw.get()));
                Some(if let Some(Ok(boundary)) = own {
                    self.boundary(boundary, line.seq.0.map(Seq::new))
                } else {
                    self.open = Some(self.events.len());
                    foreign(line.compact_metadata.map_or("null", RawValue::get))
                })
            }
            (Some("user"), _) if line.is_compact_summary.0 => {
                self.foreign_summary(line);
                None
            }
            (Some("user"), _) if !line.is_sidechain.0 => said_by_user(line).map(|text| {
                self.collect(&text, line.seq.0.map(Seq::new));
                LogWork::Prompt
            }),
            _ => None,
        };
        self.events.extend(what.map(|what| LogEvent { at, what }));
    }

    fn own(subtype: &str, raw: &str) -> Option<LogWork> {
        // A payload that cannot be read tells nothing; the readers of records report it.
        match subtype {
            "replacement" => match serde_json::from_str::<ReplacementLine<'_>>(raw)
                .ok()?
                .decision
            {
                ReplacementDecision::Replaced {
                    preview,
                    blob,
                    file,
                } => Some(LogWork::Offloaded {
                    file: file.0.map(Into::into),
                    blob: blob.0.unwrap_or_default().into(),
                    preview: u64::try_from(preview.get().len()).unwrap_or(u64::MAX),
                }),
                ReplacementDecision::Left => None,
            },
            "distilled" => Some(LogWork::Distilled(
                serde_json::from_str::<Distillation>(raw).ok()?.freed,
            )),
            "cleared" => Some(LogWork::Cleared(
                serde_json::from_str::<Clearing>(raw).ok()?.freed,
            )),
            "notes" => serde_json::from_str::<Notes>(raw)
                .ok()
                .map(|_| LogWork::Notes),
            "surfaced" => {
                let memories: Vec<IgnoredAny> = serde_json::from_str(raw).ok()?;
                let shown = u64::try_from(memories.len()).unwrap_or(u64::MAX);
                Some(LogWork::Surfaced(shown))
            }
            "dream" => Some(LogWork::Dream),
            "fact" => {
                let fact: FactLine<'_> = serde_json::from_str(raw).ok()?;
                let ours = fact.name.0.as_deref() == Some(ENGINE_TIME);
                let micros = fact.value.filter(|_| ours)?.get().parse().ok()?;
                Some(LogWork::Engine(micros))
            }
            _ => None,
        }
    }

    fn boundary(&mut self, boundary: BoundaryLine<'_>, seq: Option<Seq>) -> LogWork {
        if let Some(seq) = seq {
            self.texts.insert(seq, boundary.text);
        }
        let texts = [boundary.summary, boundary.restored];
        let whole = texts.iter().flatten().map(|raw| raw.get());
        let runs = boundary.spliced.iter().flatten();
        // Text of a fork's parent is in another file; its facts count as gone.
        let lines = runs.filter_map(|run| run.of(self.texts.get(&run.0)?));
        // One text, because each fact is looked for in each of them.
        let lines = lines.flatten().map(String::as_str).collect::<Vec<_>>();
        let lines = lines.join("\n");
        let texts: Vec<&str> = whole.chain([lines.as_str()]).collect();
        let kept = boundary.manifest.as_ref();
        let stays = |(fact, seq): &(&String, &Option<Seq>)| {
            let in_text = texts.iter().any(|text| text.contains(fact.as_str()));
            in_text || seq.is_some_and(|seq| kept.is_some_and(|kept| kept.has(seq)))
        };
        LogWork::Compacted {
            kind: boundary.kind,
            trigger: boundary.trigger,
            freed: match (boundary.pre_tokens, boundary.post_tokens) {
                (Some(before), Some(after)) => {
                    Some(Tokens(before.get().saturating_sub(after.get())))
                }
                _ => None,
            },
            facts: self.counted(self.facts.iter().filter(stays).count()),
        }
    }

    /// Facts so far and those that stay; `None` without any, which is no loss and no success.
    fn counted(&self, kept: usize) -> Option<(u64, u64)> {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        (!self.facts.is_empty()).then(|| (number(self.facts.len()), number(kept)))
    }

    /// Looks for facts in the summary that another tool wrote behind its boundary.
    fn foreign_summary(&mut self, line: &ScanLine<'_>) {
        let text = line.message().and_then(|message| message.content);
        let (Some(text), Some(open)) = (text, self.open.take()) else {
            return;
        };
        let stay = self
            .facts
            .keys()
            .filter(|fact| text.get().contains(fact.as_str()));
        let counted = self.counted(stay.count());
        if let Some(LogEvent {
            what: LogWork::Compacted { facts, .. },
            ..
        }) = self.events.get_mut(open)
        {
            *facts = counted;
        }
    }

    fn collect(&mut self, text: &str, seq: Option<Seq>) {
        for fact in facts_of(text) {
            if self.facts.len() < MOST_FACTS || self.facts.contains_key(fact) {
                self.facts.insert(fact.to_owned(), seq);
            }
        }
    }
}

/// Compaction of another tool.
fn foreign(raw: &str) -> LogWork {
    let metadata = serde_json::from_str::<CompactMetadata<'_>>(raw);
    let (trigger, freed) = match &metadata {
        Ok(known) => (
            match known.trigger.0.as_deref() {
                Some("manual") => Trigger::Manual,
                Some("auto") => Trigger::Auto,
                _ => Trigger::Unknown,
            },
            match (known.pre_tokens, known.post_tokens) {
                (Some(before), Some(after)) => Some(Tokens(before.saturating_sub(after))),
                _ => None,
            },
        ),
        Err(_) => (Trigger::Unknown, None),
    };
    LogWork::Compacted {
        kind: BoundaryKind::Foreign,
        trigger,
        freed,
        facts: None,
    }
}

/// Names and figures in a text: paths, identifiers, numbers. Words alone are none, because a
/// summary may say the same in others.
fn facts_of(text: &str) -> BTreeSet<&str> {
    let part = |c: char| c.is_alphanumeric() || "_/.:-".contains(c);
    let words = text.split(|c| !part(c));
    let words = words.map(|word| word.trim_matches(|c: char| ".:-".contains(c)));
    let telling = |word: &&str| {
        let digit = word.chars().any(|c| c.is_ascii_digit());
        FACT_LENGTH.contains(&word.chars().count())
            && (digit || word.contains(['_', '/', '.']))
            // Text written without blanks, as Chinese is, is one long word.
            && word.is_ascii()
    };
    words.filter(telling).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_figures_are_facts_and_words_are_none() {
        let text = "Keep src/relay.rs at MAX_IDLE 300, never retry. Port 8443. 端口八千";
        let facts: Vec<&str> = facts_of(text).into_iter().collect();
        assert_eq!(facts, ["8443", "MAX_IDLE", "src/relay.rs"]);
    }
}
