//! Late records, which would change frozen segments if a rule of the view were broken.
//!
//! Each names a call, a result or a response that a request may have contained already. Our own
//! writer appends few of them; other clients, crashes and merged logs produce all.

use super::{Op, Session};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, MessageId};
use dormouse_core::record::{
    AgentEvent, Body, ClearedBlock, Clearing, ClearingPlace, Distillation, DistilledBlock, Foreign,
    MailEvent, Message, MessageOrigin, Notes, Prefix, Purpose, Replacement, ReplacementDecision,
    StateChange, UsageReport,
};
use dormouse_core::usage::TokenUsage;
use dormouse_testkit::blocks::{call, result, thinking};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A late record. `back` counts from the newest of its kind.
#[derive(Clone, Debug)]
pub(crate) enum Late {
    /// A second result for an old call.
    Result { back: u8, error: bool },
    /// A preview for a result that may have been sent.
    Preview { back: u8 },
    /// Further blocks of an old response, under its id.
    Continued { back: u8, call: bool },
    /// A new response that reuses the id of an old call.
    RepeatedCall { back: u8 },
    /// The line of a response a second time, as in a copied transcript.
    RepeatedLine { back: u8 },
    /// A response of a model whose thinking the target does not accept.
    OtherModel,
    /// A distillate for another call, or of a block that is no result.
    WrongDistillate { back: u8, text: bool },
    /// A clearing made by the provider.
    ServerClearing,
    /// Records that do not reach the model, of several kinds.
    Aside { kind: u8 },
}

pub(super) fn late() -> impl Strategy<Value = Op> {
    let late = prop_oneof![
        3 => (0_u8..40, any::<bool>()).prop_map(|(back, error)| Late::Result { back, error }),
        3 => (0_u8..20).prop_map(|back| Late::Preview { back }),
        3 => (0_u8..8, any::<bool>()).prop_map(|(back, call)| Late::Continued { back, call }),
        2 => (0_u8..20).prop_map(|back| Late::RepeatedCall { back }),
        1 => (0_u8..8).prop_map(|back| Late::RepeatedLine { back }),
        1 => Just(Late::OtherModel),
        2 => (0_u8..20, any::<bool>()).prop_map(|(back, text)| Late::WrongDistillate { back, text }),
        1 => Just(Late::ServerClearing),
        2 => (0_u8..10).prop_map(|kind| Late::Aside { kind }),
    ];
    late.prop_map(Op::Late)
}

/// Item at this distance from the newest; the oldest if there are fewer.
fn back<T>(items: &[T], back: u8) -> Option<&T> {
    let last = items.len().checked_sub(1)?;
    items.get(last.saturating_sub(usize::from(back)))
}

impl Session {
    /// Appends the record; false if there is nothing it could name.
    pub(super) fn late(&mut self, late: &Late) -> bool {
        let Some(body) = self.late_body(late) else {
            return false;
        };
        self.log.push(body);
        true
    }

    fn late_body(&mut self, late: &Late) -> Option<Body> {
        Some(match late {
            Late::Result { back: n, error } => {
                let id = back(&self.calls, *n)?.as_str();
                let text = format!("late result of {id} in {}", self.log.next_seq());
                let result = Block::tool_result(&id.into(), &text, *error);
                Body::Message(Message::user(vec![result]))
            }
            Late::Preview { back: n } => {
                let (key, block) = back(&self.results(), *n)?.clone();
                Body::Replacement(Replacement {
                    key,
                    decision: ReplacementDecision::Replaced {
                        preview: Block::tool_result(block.call()?, "late preview", false),
                        blob: Hash::of(b"whole"),
                        file: None,
                    },
                })
            }
            Late::Continued { back, call: calls } => {
                let nth = self.responses.checked_sub(u32::from(*back))?;
                let mut blocks = vec![Block::text("more of it")];
                if *calls {
                    blocks.push(self.new_call());
                }
                answer(&format!("msg_{nth}"), "model", blocks)
            }
            Late::RepeatedCall { back: n } => {
                let id = back(&self.calls, *n)?.clone();
                self.responses += 1;
                let again = call(&id, "Bash", &json!({ "command": "again" }));
                answer(&format!("msg_{}", self.responses), "model", vec![again])
            }
            Late::RepeatedLine { back: n } => {
                let path = self.path();
                let bodies = path.iter().map(|record| &record.body);
                let is_response = |body: &&Body| matches!(body, Body::Message(m) if m.id.is_some());
                let responses: Vec<&Body> = bodies.filter(is_response).collect();
                (*back(&responses, *n)?).clone()
            }
            Late::OtherModel => {
                self.responses += 1;
                let blocks = vec![thinking("of another"), Block::text("answer of another")];
                let id = format!("msg_{}", self.responses);
                answer(&id, "claude-fable-5-1", blocks)
            }
            Late::WrongDistillate { back: n, text } => {
                let (key, _) = back(&self.results(), *n)?.clone();
                let block = if *text {
                    Block::text("no result")
                } else {
                    Block::tool_result(&"never_asked".into(), "of another call", false)
                };
                let blocks = vec![DistilledBlock {
                    key,
                    block,
                    blob: Hash::of(b"whole"),
                    file: None,
                }];
                Body::Distilled(Box::new(Distillation {
                    blocks,
                    ..Distillation::default()
                }))
            }
            Late::ServerClearing => {
                let results = self.results().into_iter();
                let blocks = results.map(|(key, block)| ClearedBlock {
                    key,
                    block: result(block.call().map_or("", |call| call.as_str()), "[cleared]"),
                });
                Body::Cleared(Clearing {
                    place: ClearingPlace::Server,
                    blocks: blocks.collect(),
                    ..Clearing::default()
                })
            }
            Late::Aside { kind } => self.aside(*kind),
        })
    }

    /// All results on the path, oldest first.
    fn results(&self) -> Vec<(BlockKey, Block)> {
        let path = self.path();
        let blocks = path.iter().flat_map(|record| {
            let blocks = match &record.body {
                Body::Message(message) => message.content.as_slice(),
                _ => &[],
            };
            (0_u32..)
                .zip(blocks)
                .map(|(index, block)| (BlockKey::new(record.seq, index), block.clone()))
        });
        let is_result = |(_, block): &(BlockKey, Block)| block.kind() == BlockKind::ToolResult;
        blocks.filter(is_result).collect()
    }

    fn aside(&self, kind: u8) -> Body {
        let unseen = |origin| {
            Body::Message(Message {
                origin,
                ..Message::user(vec![Block::text("for the person only")])
            })
        };
        match kind {
            0 => Body::Prefix(Prefix::default()),
            1 => Body::Usage(Box::new(UsageReport {
                message: Some(MessageId::from(format!("msg_{}", self.responses).as_str())),
                model: "model".to_owned(),
                usage: TokenUsage::default(),
                purpose: Purpose::default(),
                cache: None,
            })),
            2 => Body::Notes(Notes {
                last_summarised: self.log.next_seq(),
                tokens: dormouse_core::units::Tokens(7),
                blob: Hash::of(b"notes"),
                conversation: dormouse_core::units::Tokens(70),
                sent: dormouse_core::units::Tokens(7),
                edits: dormouse_core::units::Tokens(7),
            }),
            3 => Body::State(StateChange::Cursor {
                name: "extraction".to_owned(),
                at: self.log.next_seq(),
            }),
            4 => Body::Agent(AgentEvent {
                agent: "agent".into(),
                ended: false,
                detail: Value::Null,
            }),
            5 => Body::Mail(MailEvent {
                from: "agent".into(),
                to: "main".into(),
                detail: Value::Null,
            }),
            6 => Body::Foreign(Foreign {
                kind: "progress".into(),
                subtype: None,
                title: None,
            }),
            7 => unseen(MessageOrigin::ApiError),
            8 => unseen(MessageOrigin::TranscriptOnly),
            _ => Body::Message(Message::user(vec![Block::text("")])),
        }
    }
}

fn answer(id: &str, model: &str, blocks: Vec<Block>) -> Body {
    Body::Message(Message::assistant(id.into(), model, blocks))
}
