//! Random logs: actions of writer, user, model and layers, in any order.
//!
//! [`Op`] is one action. [`Session`] carries ops out as the shell does: it plans against the
//! current view and appends the record. An op holds only a position or a count; the state it meets
//! decides its meaning, so that every sequence is possible.

mod late;
mod op;

pub(crate) use op::{Op, branching_ops, late_ops, ops};

use dormouse_context::bound::{RewriteVerdict, local_rewrite};
use dormouse_context::boundary::{Compaction, SummaryPlace};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::segment::Segment;
use dormouse_context::target::Target;
use dormouse_context::undo;
use dormouse_context::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId, Seq};
use dormouse_core::json::RawJson;
use dormouse_core::models::{ModelTable, ThinkingBinding};
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, Checkpoint, ClearedBlock, Clearing, Distillation, DistilledBlock,
    FoldSpan, Folding, FragmentKind, Message, MessageOrigin, Record, Replacement,
    ReplacementDecision, Request, SeqRange, Snip, Trigger,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result, thinking, unsigned_thinking};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

pub(crate) fn targets() -> impl Strategy<Value = Target> {
    (any::<bool>(), any::<bool>()).prop_map(|(system_messages, bound)| Target {
        system_messages,
        binding: if bound {
            ThinkingBinding::Prefix
        } else {
            ThinkingBinding::None
        },
        ..Target::new(&Arc::new(ModelTable::builtin().clone()), "model")
    })
}

/// A session under construction.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) log: LogBuilder,
    pub(crate) target: Target,
    calls: Vec<String>,
    responses: u32,
}

impl Session {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            log: LogBuilder::new(),
            target,
            calls: Vec::new(),
            responses: 0,
        }
    }

    pub(crate) fn path(&self) -> Vec<&Record> {
        match self.log.head() {
            Some(head) => path(self.log.records(), Leaf::Record(head)),
            None => Vec::new(),
        }
    }

    /// Session folded from the whole path.
    pub(crate) fn conversation(&self) -> Conversation {
        Conversation::fold(&self.path(), self.target.clone())
    }

    /// View folded from the whole path.
    pub(crate) fn view(&self) -> View {
        undo::fold_path(&self.path(), self.target.clone())
    }

    /// Carries out an op; false if it has no meaning in this state.
    pub(crate) fn step(&mut self, op: &Op) -> bool {
        let view = self.view();
        match op {
            Op::UserText(text) => {
                self.log.user(text);
            }
            Op::Assistant {
                calls,
                think,
                text,
                same,
                usage,
            } => {
                let usage = usage.map(|prompt| TokenUsage {
                    cache_read: Tokens(u64::from(prompt) * 100),
                    input: Tokens(3),
                    output: Tokens(40),
                    ..TokenUsage::default()
                });
                self.answer(*calls, *think, *text, *same, usage);
            }
            Op::Result { back, extra } => {
                let newest = self.calls.len().checked_sub(1 + usize::from(*back));
                let id = newest
                    .map_or("never_asked", |at| self.calls[at].as_str())
                    .to_owned();
                let mut blocks = vec![result(&id, &format!("result of {id} {back}"))];
                if *extra {
                    blocks.insert(0, Block::text("a word in front"));
                }
                self.log.user_blocks(blocks);
            }
            Op::Fragment => {
                let text = format!("fragment {}", self.log.next_seq());
                self.log.fragment(FragmentKind::Status, &text);
            }
            Op::Repair => {
                let open: Vec<Block> = view
                    .tail()
                    .open_calls()
                    .filter_map(|call| call.block.call().cloned())
                    .map(|call| Block::tool_result(&call, dormouse_context::MISSING_RESULT, true))
                    .collect();
                let repair = Message {
                    origin: MessageOrigin::Repair,
                    ..Message::user(open)
                };
                self.log.push(Body::Message(repair));
            }
            Op::Request => self.request(&[]),
            Op::RequestDistil { count } => self.request(&waiting_results(&view, *count)),
            Op::Distil { count } => return self.distil(&view, *count),
            Op::Preview { back } => return self.preview(&view, *back),
            Op::Clear { keep } => return self.clear(&view, *keep),
            Op::Snip { from, len } => {
                let range = self.range(*from, *len);
                let Some(thinking) = Self::thinking_behind(&view, range) else {
                    return false;
                };
                self.log.push(Body::Snip(Snip {
                    ranges: vec![range],
                    thinking,
                }));
            }
            Op::Fold { from, len } => {
                let range = self.range(*from, *len);
                let Some(thinking) = Self::thinking_behind(&view, range) else {
                    return false;
                };
                let block = Block::text(&format!("folded {} to {}", range.first, range.last));
                let spans = vec![FoldSpan { range, block }];
                self.log.push(Body::Fold(Folding { spans, thinking }));
            }
            Op::Compact { keep, back } => return self.compact(&view, *keep, *back),
            Op::UndoNewest { older } => return self.undo(*older),
            Op::Checkpoint => {
                self.log.push(Body::Checkpoint(Box::new(Checkpoint {
                    manifest: self.conversation().manifest(),
                })));
            }
            Op::Page => match self.conversation().page_due(1) {
                Some(page) => {
                    self.log.push(Body::Chronicle(Box::new(page)));
                }
                None => return false,
            },
            Op::Rewind { back } => {
                let Some(at) = self.log.records().len().checked_sub(1 + usize::from(*back)) else {
                    return false;
                };
                let id = self.log.records()[at].id.clone();
                self.log.rewind_to(&id);
            }
            Op::Late(late) => return self.late(late),
        }
        true
    }

    fn answer(&mut self, calls: u8, think: u8, text: bool, same: bool, usage: Option<TokenUsage>) {
        self.responses += u32::from(!same);
        let mut blocks = Vec::new();
        match think {
            1 => blocks.push(thinking("hm")),
            2 => blocks.push(unsigned_thinking("hm")),
            _ => {}
        }
        if text {
            blocks.push(Block::text("answer"));
        }
        for _ in 0..calls {
            blocks.push(self.new_call());
        }
        if think == 3 {
            blocks.push(thinking("afterthought"));
        }
        let id = format!("msg_{}", self.responses);
        match usage {
            Some(usage) => self.log.assistant_with_usage(&id, blocks, usage),
            None => self.log.assistant(&id, blocks),
        };
    }

    fn new_call(&mut self) -> Block {
        let id = format!("call_{}", self.calls.len());
        let call = tool_call(&id, self.calls.len());
        self.calls.push(id);
        call
    }

    fn request(&mut self, distil: &[BlockKey]) {
        let mut conversation = self.conversation();
        conversation.arrange(distil);
        let (segments, chain) = conversation.view().extent();
        self.log.push(Body::Request(Box::new(Request {
            prefix: None,
            model: "model".to_owned(),
            segments,
            chain,
            markers: Vec::new(),
            params: RawJson::from_value(&json!({ "max_tokens": 1 })).expect("JSON"),
            decisions: Vec::new(),
            distil: distil.to_vec(),
            marked: None,
        })));
    }

    /// Distils the newest results that were sent, if no bound thinking stands behind them.
    fn distil(&mut self, view: &View, count: u8) -> bool {
        let sent = view.frozen().iter().enumerate();
        let results: Vec<(usize, &Segment)> = sent
            .filter(|(_, s)| s.block.kind() == BlockKind::ToolResult && s.derived.is_none())
            .collect();
        let newest = results.len().saturating_sub(usize::from(count));
        let Some((first, _)) = results.get(newest) else {
            return false;
        };
        let verdict = local_rewrite(view, *first);
        if verdict
            != (RewriteVerdict::Allowed {
                thinking: Vec::new(),
            })
        {
            return false;
        }
        let blocks = results[newest..].iter().map(|(_, segment)| DistilledBlock {
            key: segment.origin,
            block: Block::tool_result(segment.block.call().expect("a result"), "[short]", false),
            blob: Hash::of(b"whole"),
            file: None,
        });
        self.log.push(Body::Distilled(Box::new(Distillation {
            blocks: blocks.collect(),
            ..Distillation::default()
        })));
        true
    }

    fn preview(&mut self, view: &View, back: u8) -> bool {
        let Some(seq) = self.log.records().len().checked_sub(1 + usize::from(back)) else {
            return false;
        };
        let record = &self.log.records()[seq];
        let blocks = record.body.blocks();
        let found = (0_u32..)
            .zip(&blocks)
            .find(|(_, b)| b.kind() == BlockKind::ToolResult);
        let Some((index, block)) = found else {
            return false;
        };
        let key = BlockKey::new(record.seq, index);
        // Layer 1 decides only about results that were not sent.
        if view.frozen().iter().any(|segment| segment.origin == key) {
            return false;
        }
        let preview = Block::tool_result(block.call().expect("a result"), "preview", false);
        let decision = ReplacementDecision::Replaced {
            preview,
            blob: Hash::of(b"whole"),
            file: None,
        };
        self.log
            .push(Body::Replacement(Replacement { key, decision }));
        true
    }

    fn clear(&mut self, view: &View, keep: u8) -> bool {
        let results: Vec<(usize, ClearedBlock)> = view
            .frozen()
            .iter()
            .enumerate()
            .filter(|(_, s)| s.block.kind() == BlockKind::ToolResult && s.derived.is_none())
            .map(|(at, s)| {
                let block =
                    Block::tool_result(s.block.call().expect("a result"), "[cleared]", false);
                (
                    at,
                    ClearedBlock {
                        key: s.origin,
                        block,
                    },
                )
            })
            .collect();
        let count = results.len().saturating_sub(usize::from(keep));
        let Some((first, _)) = results.first().filter(|_| count > 0) else {
            return false;
        };
        let RewriteVerdict::Allowed { thinking } = local_rewrite(view, *first) else {
            return false;
        };
        let blocks = results
            .into_iter()
            .take(count)
            .map(|(_, entry)| entry)
            .collect();
        self.log.push(Body::Cleared(Clearing {
            blocks,
            thinking,
            ..Clearing::default()
        }));
        true
    }

    fn range(&self, from: u8, len: u8) -> SeqRange {
        let records = self.log.records();
        let at = |n: usize| {
            records
                .get(n)
                .map_or(self.log.next_seq(), |record| record.seq)
        };
        SeqRange {
            first: at(usize::from(from)),
            last: at(usize::from(from) + usize::from(len)),
        }
    }

    fn thinking_behind(view: &View, range: SeqRange) -> Option<Vec<BlockKey>> {
        let first = view
            .frozen()
            .iter()
            .position(|s| range.contains(s.origin.record));
        match local_rewrite(view, first.unwrap_or(view.frozen().len())) {
            RewriteVerdict::Allowed { thinking } => Some(thinking),
            RewriteVerdict::Wait { .. } => None,
        }
    }

    fn compact(&mut self, view: &View, keep: u8, back: bool) -> bool {
        let first_kept = self.log.records().len().saturating_sub(usize::from(keep));
        let last = self.log.next_seq();
        let edge = self
            .log
            .records()
            .get(first_kept)
            .map_or(last, |record| record.seq);
        let (summary, restored) = texts(self.log.records().len());
        let blocks = [summary[0].clone(), restored[0].clone()];
        let spliced = view.spliced(self.log.next_seq(), &blocks);
        let keep = if back {
            [SeqRange {
                first: Seq::new(0),
                last: edge,
            }]
        } else {
            [SeqRange { first: edge, last }]
        };
        let compaction = Compaction {
            seq: self.log.next_seq(),
            id: self.log.next_id(),
            summary: &summary,
            restored: &restored,
            spliced: &spliced.blocks,
            keep: &keep,
            place: if back {
                SummaryPlace::Back
            } else {
                SummaryPlace::Front
            },
        };
        if !matches!(local_rewrite(view, 0), RewriteVerdict::Allowed { .. }) {
            return false;
        }
        let manifest = self.conversation().compacted(&compaction);
        self.log.push(Body::Boundary(Box::new(Boundary {
            trigger: Trigger::Manual,
            kind: BoundaryKind::Full,
            pre_tokens: None,
            post_tokens: None,
            fixed_tokens: None,
            summary_tokens: None,
            summary: Vec::new(),
            restored: Vec::new(),
            text: spliced.text,
            spliced: spliced.blocks,
            previous: None,
            manifest: Some(manifest),
            preserved: None,
        })));
        true
    }

    fn undo(&mut self, older: u8) -> bool {
        let path = self.path();
        let rewrites = undo::in_force(&path);
        let target: Option<RecordId> = rewrites
            .iter()
            .rev()
            .nth(usize::from(older))
            .map(|record| record.id.clone());
        let conversation = self.conversation();
        let Ok(undo) = conversation.plan_undo(&path, target.as_ref(), Tokens(u64::MAX)) else {
            return false;
        };
        self.log.push(Body::Undo(Box::new(undo)));
        true
    }
}

/// Keys of the newest waiting results, the newest first: an order that settling alone never has.
fn waiting_results(view: &View, count: u8) -> Vec<BlockKey> {
    let results = view.waiting().filter(|segment| {
        segment.block.kind() == BlockKind::ToolResult && segment.derived.is_none()
    });
    let mut keys: Vec<BlockKey> = results.map(|segment| segment.origin).collect();
    keys.reverse();
    keys.truncate(usize::from(count));
    keys
}

/// A call of one of several tools: some read a file, in either spelling of the argument, and some
/// of those name none.
fn tool_call(id: &str, nth: usize) -> Block {
    let path = format!("/src/{}.rs", nth % 7);
    match nth % 5 {
        0 => call(id, "Read", &json!({ "file_path": path })),
        1 => call(id, "View", &json!({ "path": path, "file_path": 7 })),
        2 => call(id, "Read", &json!({ "pattern": path })),
        _ => call(id, "Bash", &json!({ "command": "ls", "path": path })),
    }
}

/// Blocks of a boundary after so many records. Most of their lines stand in earlier ones too, as
/// in real sections; long enough to be referred to.
fn texts(records: usize) -> ([Block; 1], [Block; 1]) {
    let lines = |from: usize, what: &str| -> String {
        let line = |n: usize| format!("- {what} number {n}, in some more words than a few\n");
        (from..from + 6).map(line).collect()
    };
    let summary = format!("summary after {records}\n{}", lines(records / 8, "fact"));
    let restored = format!("<restored>\n{}</restored>", lines(records / 20, "line"));
    ([Block::text(&summary)], [Block::text(&restored)])
}
