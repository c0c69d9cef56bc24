//! Panels about memories: recalled and saved ones, all of them, those that wait, their changes.

use super::{MOST, action, age, run};
use crate::commands::recall::reasons;
use crate::error::Failure;
use crate::output::figures;
use dormouse_core::record::{Body, StateChange};
use dormouse_core::units::Millis;
use dormouse_host::{FileDiff, Host, ListFilter, Near, RecallQuestion, Which, Work};
use dormouse_tui::{Act, Panel, PanelAction, PanelItem};
use similar::{ChangeTag, TextDiff};
use std::path::Path;

/// Changes of the memory that are shown with their texts, which have to be read for it.
const MOST_CHANGES: usize = 40;
/// Prompts whose recall is asked for again, to say why.
const MOST_REASONS: usize = 8;

/// Memories that were brought in or saved, with the reasons.
pub(super) fn recalled(host: &Host, log: &Path) -> Result<Panel, Failure> {
    let records = host.transcripts().records(log)?;
    let mut prompt = String::new();
    let mut found: Vec<(String, &StateChange, Option<Millis>)> = Vec::new();
    for record in &records {
        match &record.body {
            Body::Message(message) => {
                if let Some(words) = said(message) {
                    prompt = words;
                }
            }
            Body::State(
                change @ (StateChange::Surfaced { .. } | StateChange::MemorySaved { .. }),
            ) => found.push((prompt.clone(), change, record.at)),
            _ => {}
        }
    }
    let mut items = Vec::new();
    for (nth, (prompt, change, at)) in found.into_iter().rev().enumerate() {
        match change {
            StateChange::Surfaced { memories } => {
                // Asked again, as the session asked: memories may have changed since.
                let question = RecallQuestion {
                    prompt: prompt.clone(),
                    which: Which::Private,
                    work: Work::default(),
                    most: None,
                    near: Near::Show,
                    explain: true,
                };
                let asked = (nth < MOST_REASONS).then(|| host.recall(&question).ok());
                let asked = asked.flatten();
                for (path, bytes) in memories {
                    let name = &relative(host, path);
                    let hits = asked
                        .iter()
                        .flat_map(|asked| asked.memories.iter().chain(&asked.uncertain));
                    let hit = hits.into_iter().find(|hit| hit.path == *name);
                    let mut detail = vec![format!("for: {prompt}")];
                    if let Some(hit) = hit {
                        detail.extend(hit.why.iter().map(|why| format!("why: {why}")));
                        let grounds = hit.grounds.as_ref();
                        detail.extend(grounds.into_iter().flat_map(|it| reasons(hit, it)));
                    }
                    detail.extend(text_of(host, name));
                    items.push(PanelItem {
                        title: format!("recalled {name}"),
                        aside: format!("{bytes} bytes · {}", age(host, at)),
                        detail,
                        actions: judged(name)
                            .into_iter()
                            .chain(memory_actions(host, name))
                            .collect(),
                    });
                }
            }
            StateChange::MemorySaved { detail } => {
                let files = detail["files"].as_array().into_iter().flatten();
                for name in files.filter_map(serde_json::Value::as_str) {
                    items.push(PanelItem {
                        title: format!("saved {name}"),
                        aside: age(host, at),
                        detail: text_of(host, name),
                        actions: memory_actions(host, name),
                    });
                }
            }
            _ => {}
        }
    }
    items.truncate(MOST);
    Ok(Panel {
        summary: vec![
            "Memories of this session: brought in for a prompt, or saved from it.".to_owned(),
        ],
        items,
        empty: "No memory was recalled or saved in this session.".to_owned(),
    })
}

/// Words of the user in a message.
fn said(message: &dormouse_core::record::Message) -> Option<String> {
    use dormouse_core::block::{Block, BlockKind};
    use dormouse_core::record::{MessageOrigin, Role};
    if message.role != Role::User || message.origin != MessageOrigin::Conversation {
        return None;
    }
    let texts = message
        .content
        .iter()
        .filter(|block| block.kind() == BlockKind::Text);
    let texts: Vec<String> = texts.filter_map(Block::readable_text).collect();
    let text = dormouse_core::fragment::sent(&texts.join(" "));
    (!text.trim().is_empty()).then_some(text)
}

/// A memory's file below its directory, as the commands name it.
fn relative(host: &Host, path: &str) -> String {
    let list = host.memories(&Which::Private, ListFilter::default());
    let root = list.map(|list| list.directory).unwrap_or_default();
    let below = path.strip_prefix(&root).unwrap_or(path);
    below.trim_start_matches('/').to_owned()
}

fn text_of(host: &Host, name: &str) -> Vec<String> {
    let shown = host.memory(&Which::Private, name);
    let text = shown.map_or_else(
        |_| "(it is not there any more)".to_owned(),
        |shown| shown.text,
    );
    text.lines().map(str::to_owned).collect()
}

/// Text of a memory below its front matter.
fn body(text: &str) -> String {
    let Some(rest) = text.strip_prefix("---\n") else {
        return text.trim().to_owned();
    };
    let body = rest.split_once("\n---\n").map_or(text, |(_, body)| body);
    body.trim().to_owned()
}

/// Keys that tell what a recalled memory was worth; `u` takes the word back.
fn judged(name: &str) -> [PanelAction; 2] {
    [
        action('+', "useful", run(&["memory", "useful", name])),
        action('-', "wrong", run(&["memory", "wrong", name])),
    ]
}

fn memory_actions(host: &Host, name: &str) -> Vec<PanelAction> {
    let shown = host.memory(&Which::Private, name);
    let edit = shown.map(|shown| Act::Edit {
        lines: vec![
            ["memory", "edit", name, "--text"]
                .map(str::to_owned)
                .to_vec(),
        ],
        text: body(&shown.text),
    });
    let edit = edit.map(|edit| action('e', "edit", edit));
    let others = [
        action('f', "forget", run(&["memory", "forget", name])),
        action('u', "undo", run(&["memory", "undo"])),
    ];
    edit.into_iter().chain(others).collect()
}

pub(super) fn memories(host: &Host, words: &str) -> Result<Panel, Failure> {
    let list = host.memories(&Which::Private, ListFilter::default())?;
    let found = if words.trim().is_empty() {
        None
    } else {
        let found = host.search_memories(words, MOST)?;
        Some(
            found
                .into_iter()
                .map(|memory| memory.path)
                .collect::<Vec<_>>(),
        )
    };
    let mut rows: Vec<_> = list.memories.iter().collect();
    if let Some(found) = &found {
        let place = |path: &str| found.iter().position(|known| known == path);
        rows.retain(|row| place(&row.path).is_some());
        rows.sort_by_key(|row| place(&row.path));
    }
    let count = list.memories.len();
    let items = rows.into_iter().take(MOST).map(|row| {
        let pin = if row.pinned { "pinned · " } else { "" };
        let title = if row.description.is_empty() {
            &row.name
        } else {
            &row.description
        };
        PanelItem {
            title: format!("{}: {title}", row.path),
            aside: format!(
                "{pin}{} · {}",
                row.kind.unwrap_or("note"),
                figures::age(host.now(), row.at)
            ),
            detail: text_of(host, &row.path),
            actions: memory_actions(host, &row.path),
        }
    });
    Ok(Panel {
        summary: vec![format!(
            "{} in {}",
            figures::count(count, "memory", "memories"),
            list.directory
        )],
        items: items.collect(),
        empty: if found.is_some() {
            "No memory has these words.".to_owned()
        } else {
            "No memory yet. `/memory add WORDS` keeps one; the agent keeps its own.".to_owned()
        },
    })
}

pub(super) fn inbox(host: &Host) -> Result<Panel, Failure> {
    let inbox = host.inbox(&Which::Private)?;
    let items = inbox.items.iter().map(|item| {
        let path = item.proposal.path.to_string();
        let id = item.id.as_str();
        let approve = ["memory", "approve", id].map(str::to_owned).to_vec();
        let edit = ["memory", "edit", &path, "--text"]
            .map(str::to_owned)
            .to_vec();
        let mut detail = vec![item.proposal.waits_because.clone(), String::new()];
        detail.extend(item.proposal.content.lines().map(str::to_owned));
        PanelItem {
            title: format!("{path}: {}", item.description),
            aside: figures::age(host.now(), item.at),
            detail,
            actions: vec![
                action('a', "approve", run(&["memory", "approve", id])),
                action('r', "reject", run(&["memory", "reject", id])),
                action(
                    'e',
                    "edit and approve",
                    Act::Edit {
                        lines: vec![approve, edit],
                        text: body(&item.proposal.content),
                    },
                ),
            ],
        }
    });
    Ok(Panel {
        summary: vec!["Memories from tools and pages wait here; they are not recalled before you approve them.".to_owned()],
        items: items.collect(),
        empty: "Nothing waits for approval.".to_owned(),
    })
}

pub(super) fn changes(host: &Host) -> Result<Panel, Failure> {
    let history = host.history(&Which::Private, None, MOST_CHANGES)?;
    let items = history.entries.iter().map(|entry| {
        let diff = host.entry_diff(&Which::Private, Some(&entry.id));
        let detail = diff.map_or_else(
            |error| vec![error.to_string()],
            |diff| diff.changes.iter().flat_map(lines_of).collect(),
        );
        let state = if entry.undone_by.is_some() {
            "taken back · "
        } else {
            ""
        };
        PanelItem {
            title: format!("{}: {}", entry.files().join(", "), entry.reason),
            aside: format!(
                "{state}{} · {}",
                entry.author,
                figures::age(host.now(), entry.at)
            ),
            detail,
            actions: vec![action(
                'u',
                "take it back",
                run(&["memory", "undo", &entry.id]),
            )],
        }
    });
    Ok(Panel {
        summary: vec![
            "Every change of the memory, by you, the agent or a dream; `/dream --now` dreams."
                .to_owned(),
        ],
        items: items.collect(),
        empty: "The memory was never changed.".to_owned(),
    })
}

/// A change of a file as lines.
fn lines_of(file: &FileDiff) -> Vec<String> {
    let before = file.before.as_deref().unwrap_or_default();
    let after = file.after.as_deref().unwrap_or_default();
    let diff = TextDiff::from_lines(before, after);
    let mut lines = vec![file.path.clone()];
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        lines.push(format!("{sign} {}", change.value().trim_end()));
    }
    lines
}
