//! Remembering changes no answer, and makes a request cost what is new in it.

use crate::config::{SimConfig, TokenizerConfig};
use crate::http::SimRequest;
use crate::simulator::Simulator;
use dormouse_core::units::Millis;
use proptest::prelude::*;
use std::fmt::Write as _;

/// A message, as it is written.
#[derive(Clone, Debug)]
struct Said {
    user: bool,
    /// The role stands behind the content.
    role_last: bool,
    /// The content is given twice.
    twice: bool,
    blocks: Blocks,
}

#[derive(Clone, Debug)]
enum Blocks {
    Plain(u8),
    List(Vec<Piece>),
}

#[derive(Clone, Debug)]
struct Piece {
    text: u8,
    marked: bool,
    kind: u8,
    space: bool,
}

/// A change from one body to the next.
#[derive(Clone, Debug)]
enum Change {
    Say(Vec<Said>),
    Mark(prop::sample::Index),
    Alter(prop::sample::Index, u8),
    Rewind(usize),
    OtherModel,
    OtherRole(prop::sample::Index),
    SecondList,
    /// The byte at a place becomes another: mostly a fault.
    Spoil(prop::sample::Index, u8),
}

fn piece() -> impl Strategy<Value = Piece> {
    (
        any::<u8>(),
        prop::bool::weighted(0.1),
        0..6_u8,
        prop::bool::weighted(0.2),
    )
        .prop_map(|(text, marked, kind, space)| Piece {
            text,
            marked,
            kind,
            space,
        })
}

fn said() -> impl Strategy<Value = Said> {
    let blocks = prop_oneof![
        1 => any::<u8>().prop_map(Blocks::Plain),
        8 => prop::collection::vec(piece(), 0..4).prop_map(Blocks::List),
    ];
    let seldom = || prop::bool::weighted(0.1);
    (prop::bool::weighted(0.7), seldom(), seldom(), blocks).prop_map(
        |(user, role_last, twice, blocks)| Said {
            user,
            role_last,
            twice,
            blocks,
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        8 => prop::collection::vec(said(), 1..3).prop_map(Change::Say),
        3 => place().prop_map(Change::Mark),
        2 => (place(), any::<u8>()).prop_map(|(at, text)| Change::Alter(at, text)),
        1 => (0..3_usize).prop_map(Change::Rewind),
        1 => Just(Change::OtherModel),
        1 => place().prop_map(Change::OtherRole),
        1 => Just(Change::SecondList),
        2 => (place(), any::<u8>()).prop_map(|(at, byte)| Change::Spoil(at, byte)),
    ]
}

fn write_piece(piece: &Piece, text: &mut String) {
    let space = if piece.space { " " } else { "" };
    let words = format!(
        "word {} é\\n{}",
        piece.text,
        "x".repeat(usize::from(piece.text))
    );
    let marker = if piece.marked {
        r#","cache_control":{"type":"ephemeral"}"#
    } else {
        ""
    };
    let members = match piece.kind {
        0 => format!(
            r#""type":"tool_use","id":"call {}","name":"Read","input":{{"a":1}}"#,
            piece.text
        ),
        1 => format!(
            r#""type":"tool_result","tool_use_id":"call {}","content":[{{"type":"text","text":"{words}"}}]"#,
            piece.text
        ),
        // An escape in the first key hides where the block begins.
        2 => format!(r#""\u0074ype":"text","text":"{words}""#),
        _ => format!(r#""type":"text","text":"{words}""#),
    };
    let _ = write!(text, "{space}{{{space}{members}{marker}{space}}}{space}");
}

fn write_message(said: &Said, text: &mut String) {
    let role = if said.user { "user" } else { "assistant" };
    let mut content = String::new();
    match &said.blocks {
        Blocks::Plain(word) => {
            let _ = write!(content, "\"plain {word}\"");
        }
        Blocks::List(pieces) => {
            content.push('[');
            for (at, piece) in pieces.iter().enumerate() {
                if at > 0 {
                    content.push(',');
                }
                write_piece(piece, &mut content);
            }
            content.push(']');
        }
    }
    let content = if said.twice {
        format!(r#""content":{content},"content":[{{"type":"text","text":"again"}}]"#)
    } else {
        format!(r#""content":{content}"#)
    };
    let _ = if said.role_last {
        write!(text, r#"{{{content},"role":"{role}"}}"#)
    } else {
        write!(text, r#"{{"role":"{role}",{content}}}"#)
    };
}

struct Story {
    messages: Vec<Said>,
    model: &'static str,
    second_list: bool,
}

impl Story {
    fn body(&self) -> Vec<u8> {
        let mut list = String::new();
        for (at, said) in self.messages.iter().enumerate() {
            if at > 0 {
                list.push(',');
            }
            write_message(said, &mut list);
        }
        let second = if self.second_list {
            r#","messages":[{"role":"user","content":[{"type":"text","text":"only this"}]}]"#
        } else {
            ""
        };
        let model = self.model;
        format!(
            r#"{{"model":"{model}","system":"You are.","messages":[{list}]{second},"max_tokens":9}}"#
        )
        .into_bytes()
    }

    fn piece(&mut self, at: prop::sample::Index) -> Option<&mut Piece> {
        let lists = self
            .messages
            .iter_mut()
            .filter_map(|said| match &mut said.blocks {
                Blocks::List(pieces) => Some(pieces),
                Blocks::Plain(_) => None,
            });
        let mut pieces: Vec<&mut Piece> = lists.flatten().collect();
        let count = pieces.len();
        (count > 0).then(|| pieces.swap_remove(at.index(count)))
    }
}

fn simulator() -> Simulator {
    Simulator::new(SimConfig {
        tokenizer: TokenizerConfig {
            text_hundredths: Some(100),
            ..TokenizerConfig::default()
        },
        cache_minimum: Some(1),
        ..SimConfig::default()
    })
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_reader_that_remembers_answers_like_one_that_forgets(
        changes in prop::collection::vec(change(), 1..24),
    ) {
        let (mut remembers, mut forgets) = (simulator(), simulator());
        let mut story = Story { messages: Vec::new(), model: "claude-opus-4-6", second_list: false };
        for (at, change) in changes.iter().enumerate() {
            let mut spoilt = None;
            match change.clone() {
                Change::Say(more) => story.messages.extend(more),
                Change::Mark(place) => {
                    if let Some(piece) = story.piece(place) {
                        piece.marked = !piece.marked;
                    }
                }
                Change::Alter(place, text) => {
                    if let Some(piece) = story.piece(place) {
                        piece.text = text;
                    }
                }
                Change::Rewind(count) => {
                    let left = story.messages.len().saturating_sub(count);
                    story.messages.truncate(left);
                }
                Change::OtherModel => {
                    story.model = match story.model {
                        "claude-opus-4-6" => "claude-haiku-4-5",
                        _ => "claude-opus-4-6",
                    };
                }
                Change::OtherRole(place) if !story.messages.is_empty() => {
                    let place = place.index(story.messages.len());
                    story.messages[place].user = !story.messages[place].user;
                }
                Change::OtherRole(_) => {}
                Change::SecondList => story.second_list = !story.second_list,
                Change::Spoil(place, byte) => spoilt = Some((place, byte)),
            }
            let mut body = story.body();
            if let Some((place, byte)) = spoilt {
                let place = place.index(body.len());
                body[place] = byte;
            }
            let request = SimRequest::post("/v1/messages", body);
            let now = Millis(1_000 * i64::try_from(at).unwrap());
            forgets.forget();
            let (mut one, mut other) = (remembers.handle(&request, now), forgets.handle(&request, now));
            for response in [&mut one, &mut other] {
                if let Some(report) = &mut response.report {
                    report.read_bytes = 0;
                }
            }
            prop_assert_eq!(one.status, other.status);
            prop_assert_eq!(one.bytes(), other.bytes());
            prop_assert_eq!(one.report, other.report);
        }
    }
}

#[test]
fn a_request_costs_what_is_new_in_it() {
    let mut simulator = simulator();
    let mut story = Story {
        messages: Vec::new(),
        model: "claude-opus-4-6",
        second_list: false,
    };
    let mut costs = Vec::new();
    for turn in 0..200_u8 {
        for user in [true, false] {
            let piece = Piece {
                text: 100,
                marked: false,
                kind: 5,
                space: false,
            };
            story.messages.push(Said {
                user,
                role_last: false,
                twice: false,
                blocks: Blocks::List(vec![piece]),
            });
        }
        story.messages.push(Said {
            user: true,
            role_last: false,
            twice: false,
            // The marker moves with the end, as a client moves it.
            blocks: Blocks::List(vec![Piece {
                text: 100,
                marked: true,
                kind: 5,
                space: false,
            }]),
        });
        let body = story.body();
        let sent = body.len();
        let request = SimRequest::post("/v1/messages", body);
        let response = simulator.handle(&request, Millis(1_000 * i64::from(turn)));
        let report = response.report.unwrap();
        costs.push((report.read_bytes, sent));
        if let Some(Blocks::List(pieces)) = story.messages.last_mut().map(|said| &mut said.blocks) {
            pieces[0].marked = false;
        }
    }
    let ((early, _), (late, sent)) = (costs[10], costs[199]);
    assert!(
        late <= early + 8,
        "{late} bytes read at the end, {early} at the beginning"
    );
    assert!(late * 50 < sent, "{late} of {sent} bytes read");
}
