//! Random logs: what a writer, a user, a model and the layers may do, in any order.
//!
//! [`Op`] is one thing that happens. [`Session`] carries ops out the way the shell does: it plans
//! against the current view and appends the record. The ops know no more than a position or a
//! count; what they mean is decided by the state they meet, so that every sequence is possible.

use dormouse_context::bound::{RewriteVerdict, local_rewrite};
use dormouse_context::compact::{Compaction, SummaryPlace};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_context::undo;
use dormouse_context::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId, Seq};
use dormouse_core::json::RawJson;
use dormouse_core::models::{ModelTable, ThinkingBinding};
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, Checkpoint, ClearedBlock, Clearing, FoldSpan, Folding,
    FragmentKind, Message, MessageOrigin, Record, Replacement, ReplacementDecision, Request,
    SeqRange, Snip, Trigger,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result, thinking, unsigned_thinking};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    UserText(String),
    /// Some calls, some thinking, some text; `same` continues the previous response.
    Assistant {
        calls: u8,
        think: u8,
        text: bool,
        same: bool,
        usage: Option<u8>,
    },
    /// The result of a call, counted back from the newest: right, late, twice or never asked for.
    Result {
        back: u8,
        extra: bool,
    },
    Fragment,
    Repair,
    Request,
    Preview {
        back: u8,
    },
    Clear {
        keep: u8,
    },
    Snip {
        from: u8,
        len: u8,
    },
    Fold {
        from: u8,
        len: u8,
    },
    Compact {
        keep: u8,
        back: bool,
    },
    UndoNewest {
        older: u8,
    },
    Checkpoint,
    Rewind {
        back: u8,
    },
}

impl Op {
    /// Whether the op may change what was sent.
    pub(crate) fn is_rewrite(&self) -> bool {
        matches!(
            self,
            Self::Clear { .. }
                | Self::Snip { .. }
                | Self::Fold { .. }
                | Self::Compact { .. }
                | Self::UndoNewest { .. }
                | Self::Rewind { .. }
        )
    }
}

/// Weights of what makes branches and manifests, among ordinary things that happen.
struct Turns {
    rewrite: u32,
    checkpoint: u32,
    rewind: u32,
    /// How far back a rewind may go.
    farthest: u8,
}

pub(crate) fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let turns = Turns {
        rewrite: 1,
        checkpoint: 1,
        rewind: 1,
        farthest: 8,
    };
    weighted_ops(most, &turns)
}

/// Logs that are mostly branches: rewinds go behind manifests, and rewrites, undo records and
/// checkpoints are left on branches that are abandoned.
pub(crate) fn branching_ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let turns = Turns {
        rewrite: 2,
        checkpoint: 4,
        rewind: 9,
        farthest: 30,
    };
    weighted_ops(most, &turns)
}

fn weighted_ops(most: usize, turns: &Turns) -> impl Strategy<Value = Vec<Op>> + use<> {
    let rewrite = turns.rewrite;
    let op = prop_oneof![
        4 => "[a-c]{0,3}".prop_map(Op::UserText),
        6 => (0_u8..4, 0_u8..4, any::<bool>(), prop::bool::weighted(0.25), any::<Option<u8>>())
            .prop_map(|(calls, think, text, same, usage)| Op::Assistant { calls, think, text, same, usage }),
        8 => (0_u8..5, prop::bool::weighted(0.1)).prop_map(|(back, extra)| Op::Result { back, extra }),
        3 => Just(Op::Fragment),
        1 => Just(Op::Repair),
        7 => Just(Op::Request),
        1 => (0_u8..3).prop_map(|back| Op::Preview { back }),
        rewrite => (0_u8..3).prop_map(|keep| Op::Clear { keep }),
        rewrite => (0_u8..20, 0_u8..6).prop_map(|(from, len)| Op::Snip { from, len }),
        rewrite => (0_u8..20, 0_u8..6).prop_map(|(from, len)| Op::Fold { from, len }),
        rewrite => (0_u8..12, any::<bool>()).prop_map(|(keep, back)| Op::Compact { keep, back }),
        rewrite => (0_u8..3).prop_map(|older| Op::UndoNewest { older }),
        turns.checkpoint => Just(Op::Checkpoint),
        turns.rewind => (0..=turns.farthest).prop_map(|back| Op::Rewind { back }),
    ];
    prop::collection::vec(op, 0..most)
}

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

/// Carries ops out.
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

    /// The session by folding everything.
    pub(crate) fn conversation(&self) -> Conversation {
        Conversation::fold(&self.path(), self.target.clone())
    }

    /// The view by folding everything.
    pub(crate) fn view(&self) -> View {
        undo::fold_path(&self.path(), self.target.clone())
    }

    /// Carries an op out; false when it could not mean anything here.
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
            Op::Request => self.request(&view),
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
            Op::Rewind { back } => {
                let Some(at) = self.log.records().len().checked_sub(1 + usize::from(*back)) else {
                    return false;
                };
                let id = self.log.records()[at].id.clone();
                self.log.rewind_to(&id);
            }
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
            let id = format!("call_{}", self.calls.len());
            blocks.push(tool_call(&id, self.calls.len()));
            self.calls.push(id);
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

    fn request(&mut self, view: &View) {
        let (segments, chain) = view.extent();
        self.log.push(Body::Request(Box::new(Request {
            prefix: None,
            model: "model".to_owned(),
            segments,
            chain,
            markers: Vec::new(),
            params: RawJson::from_value(&json!({ "max_tokens": 1 })).expect("JSON"),
            decisions: Vec::new(),
        })));
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
        // Layer 1 decides only about what was not sent.
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
        let summary = [Block::text("summary")];
        let restored = [Block::text("restored")];
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
            summary: summary.to_vec(),
            restored: restored.to_vec(),
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

/// A call of one tool or another: some read a file, in one or the other spelling, and some of those
/// name none.
fn tool_call(id: &str, nth: usize) -> Block {
    let path = format!("/src/{}.rs", nth % 7);
    match nth % 5 {
        0 => call(id, "Read", &json!({ "file_path": path })),
        1 => call(id, "View", &json!({ "path": path, "file_path": 7 })),
        2 => call(id, "Read", &json!({ "pattern": path })),
        _ => call(id, "Bash", &json!({ "command": "ls", "path": path })),
    }
}
