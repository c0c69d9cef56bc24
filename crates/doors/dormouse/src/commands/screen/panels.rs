//! Content of the panels: sessions and memories as the host knows them, in words for a screen.

mod memory;

use crate::error::Failure;
use crate::output::figures;
use dormouse_agent::protocol::RewindWhat;
use dormouse_agent::rewind_points;
use dormouse_core::id::SessionId;
use dormouse_core::record::Body;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::Usd;
use dormouse_host::{Forgetting, ForgottenPart, Host, HostError, NextCompaction, SessionRow};
use dormouse_tui::{Act, Panel, PanelAction, PanelItem, PanelKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Entries of a list: more than a person looks through; a search narrows them down.
const MOST: usize = 200;

/// Reads the content of a panel. `log` is that of the open session.
pub(super) fn read(
    host: &Host,
    kind: PanelKind,
    log: Option<&Path>,
    words: &str,
) -> Result<Panel, Failure> {
    match (kind, log) {
        (PanelKind::Forgotten, Some(log)) => forgotten(host, log),
        (PanelKind::Next, Some(log)) => next(host, log),
        (PanelKind::Recalled, Some(log)) => memory::recalled(host, log),
        (PanelKind::Points, Some(log)) => points(host, log),
        (PanelKind::Inbox, _) => memory::inbox(host),
        (PanelKind::Changes, _) => memory::changes(host),
        (PanelKind::Sessions, _) => sessions(host, words),
        (PanelKind::Memories, _) | (_, None) => memory::memories(host, words),
    }
}

fn action(key: char, label: &str, act: Act) -> PanelAction {
    PanelAction {
        key,
        label: label.to_owned(),
        act,
    }
}

fn run(words: &[&str]) -> Act {
    Act::Run(vec![words.iter().map(|word| (*word).to_owned()).collect()])
}

fn age(host: &Host, at: Option<Millis>) -> String {
    at.map_or_else(String::new, |at| figures::age(host.now(), at))
}

/// Parts in lines, the largest first.
fn parts(parts: &[ForgottenPart], more: usize) -> impl Iterator<Item = String> + '_ {
    let mut sorted: Vec<&ForgottenPart> = parts.iter().collect();
    sorted.sort_by_key(|part| Reverse(part.tokens));
    let shown = sorted.into_iter().map(|part| {
        let tokens = figures::tokens(part.tokens);
        format!("{tokens:>7}  {}: {}", part.category, plain(&part.words))
    });
    let rest = (more > 0).then(|| format!("and {more} more parts"));
    shown.chain(rest)
}

/// Words without the wrapper that they begin with: it is for the model.
fn plain(words: &str) -> &str {
    let inner = words
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .map(|(_, inner)| inner.trim());
    inner.filter(|inner| !inner.is_empty()).unwrap_or(words)
}

fn forgotten(host: &Host, log: &Path) -> Result<Panel, Failure> {
    let rewrites = host.forgotten(log)?;
    let freed: Tokens = rewrites
        .iter()
        .filter(|rewrite| !rewrite.undone)
        .map(|rewrite| rewrite.freed)
        .sum();
    let items = rewrites.iter().map(|rewrite| rewritten(host, rewrite));
    Ok(Panel {
        summary: vec![format!(
            "{} of the prompt, {} tokens freed. Nothing is lost: the log keeps every word.",
            figures::count(rewrites.len(), "rewrite", "rewrites"),
            figures::tokens(freed)
        )],
        items: items.take(MOST).collect(),
        empty: "Nothing was forgotten in this session.".to_owned(),
    })
}

fn rewritten(host: &Host, rewrite: &Forgetting) -> PanelItem {
    let mut aside = Vec::new();
    if rewrite.undone {
        aside.push("taken back".to_owned());
    }
    if rewrite.freed > Tokens::ZERO {
        aside.push(format!("{} freed", figures::tokens(rewrite.freed)));
    }
    aside.extend(rewrite.cost.map(|cost| cost.to_string()));
    aside.push(age(host, rewrite.at));
    let mut detail = Vec::new();
    if let Some((before, after)) = rewrite.facts {
        detail.push(format!(
            "{after} of {before} names and figures of yours are still in the prompt ({})",
            figures::share(after, before)
        ));
    }
    detail.push(rewrite.why.clone());
    if !rewrite.parts.is_empty() {
        detail.push("gone from the prompt, or there in fewer words:".to_owned());
    }
    detail.extend(parts(&rewrite.parts, rewrite.more));
    let undo = rewrite
        .can_undo
        .then(|| action('u', "take it back", Act::Undo(rewrite.record.clone())));
    PanelItem {
        title: format!("{}: {}", rewrite.layer, rewrite.why),
        aside: aside.join(" · "),
        detail,
        actions: undo.into_iter().collect(),
    }
}

fn next(host: &Host, log: &Path) -> Result<Panel, Failure> {
    let next = host.next_compaction(&host.transcripts().live(log)?);
    let items: Vec<PanelItem> = next
        .parts
        .iter()
        .map(|part| PanelItem {
            title: format!("{}: {}", part.category, plain(&part.words)),
            aside: figures::tokens(part.tokens),
            detail: vec![part.words.clone()],
            actions: vec![action('c', "compact now", Act::Compact)],
        })
        .collect();
    let mut summary = next_words(&next);
    summary.push(format!("Now: {}", next.why));
    let empty = match &next.nothing {
        Some(why) => format!("A compaction would drop nothing: {why}."),
        None => "A compaction would drop nothing.".to_owned(),
    };
    Ok(Panel {
        summary,
        items,
        empty,
    })
}

/// The next compaction in lines.
pub(in crate::commands) fn next_words(next: &NextCompaction) -> Vec<String> {
    let tokens = figures::tokens;
    let when = match next.begins_at {
        Some(at) if at > next.used => format!(
            "The policy `{}` compacts next at about {} tokens, {} from here{}.",
            next.policy,
            tokens(at),
            tokens(at - next.used),
            if next.policy == "economic" {
                ", if that pays by then"
            } else {
                ""
            }
        ),
        Some(_) => "The next compaction is due.".to_owned(),
        None => "Automatic compaction is off.".to_owned(),
    };
    let mut lines = vec![when];
    if next.nothing.is_none() {
        lines.push(format!(
            "Now it would drop {} tokens for a summary of about {}, which keeps your own messages; {} stay as they are.",
            tokens(next.drops),
            tokens(next.summary),
            tokens(next.stays)
        ));
        if let (Some(price), Some(now), Some(then)) =
            (next.price, next.request_now, next.request_then)
        {
            lines.push(format!(
                "It would cost {price}; reading the prompt costs {now} a request now, {then} after it."
            ));
        }
    }
    lines
}

fn points(host: &Host, log: &Path) -> Result<Panel, Failure> {
    let session = log.file_stem().unwrap_or_default().to_string_lossy();
    let Ok((_, points)) = rewind_points(host, Some(&session)) else {
        return Err(HostError::NoSession(session.into_owned()).into());
    };
    let records = host.transcripts().records(log)?;
    let models = host.models();
    let costs = records.iter().filter_map(|record| match &record.body {
        Body::Usage(report) => {
            let cost = models.lookup(&report.model).info.cost(&report.usage)?;
            Some((record.seq, cost))
        }
        _ => None,
    });
    let costs: Vec<_> = costs.collect();
    let ends: Vec<_> = points.iter().skip(1).map(|point| point.after).collect();
    let items = points.iter().enumerate().map(|(nth, point)| {
        let end = ends.get(nth).copied();
        let inside = costs
            .iter()
            .filter(|(seq, _)| *seq > point.after && end.is_none_or(|end| *seq <= end));
        let mut cost = Usd::default();
        for (_, part) in inside {
            cost += *part;
        }
        let back = |what| Act::Rewind {
            to: point.to.clone(),
            what,
        };
        let mut detail = vec![format!("{} · {cost}", age(host, point.at))];
        if point.files.is_empty() {
            detail.push("no file was changed by Write or Edit".to_owned());
        } else {
            detail.push("changed after it, until the next prompt:".to_owned());
            detail.extend(point.files.iter().map(|file| format!("  {file}")));
        }
        PanelItem {
            title: format!("{} {}", point.number, point.words),
            aside: format!(
                "{} · {cost}",
                figures::count(point.files.len(), "file", "files")
            ),
            detail,
            actions: vec![
                action('b', "back: both", back(RewindWhat::Both)),
                action('c', "conversation", back(RewindWhat::Conversation)),
                action('f', "files", back(RewindWhat::Files)),
            ],
        }
    });
    let mut items: Vec<PanelItem> = items.collect();
    items.reverse();
    Ok(Panel {
        summary: vec![
            "Go back to the moment before a prompt; nothing of the log is lost.".to_owned(),
        ],
        items,
        empty: "There is no prompt to go back to.".to_owned(),
    })
}

fn sessions(host: &Host, words: &str) -> Result<Panel, Failure> {
    let folders: Vec<PathBuf> = host
        .agent_folders()
        .all()
        .filter(|folder| host.system().files.metadata(folder).is_ok())
        .map(Path::to_owned)
        .collect();
    let mut rows: Vec<SessionRow> = Vec::new();
    for folder in &folders {
        rows.extend(host.sessions(Some(folder))?.sessions);
    }
    rows.retain(|row| row.messages > 0);
    rows.sort_by_key(|row| Reverse(row.newest));
    let count = rows.len();
    let wanted = words.trim().to_lowercase();
    let said = said_in(host, &folders, &wanted)?;
    let has = |row: &SessionRow| {
        let facts = [
            row.title.as_deref(),
            row.cwd.as_deref(),
            Some(row.session.as_str()),
            Some(row.model.as_str()),
        ];
        let named = facts
            .iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(&wanted));
        named || said.contains_key(&row.file)
    };
    let shown = rows.iter().filter(|row| has(row)).take(MOST);
    let items = shown.map(|row| session(host, row, said.get(&row.file)));
    Ok(Panel {
        summary: vec![format!(
            "{} of all agents on this machine",
            figures::count(count, "session", "sessions")
        )],
        items: items.collect(),
        empty: if wanted.is_empty() {
            "No session yet: `dormouse` and other agents leave theirs here.".to_owned()
        } else {
            "No session has these words.".to_owned()
        },
    })
}

/// Passages with the words, by their transcripts.
fn said_in(
    host: &Host,
    folders: &[PathBuf],
    words: &str,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut said = BTreeMap::new();
    if words.is_empty() || folders.is_empty() {
        return Ok(said);
    }
    if let Some(search) = host.search_sessions(words, folders)? {
        for found in search.best(host, MOST, &AtomicBool::new(false)).matches {
            said.entry(found.file)
                .or_insert_with(|| format!("{}: {}", found.role, found.snippet));
        }
    }
    Ok(said)
}

fn session(host: &Host, row: &SessionRow, said: Option<&String>) -> PanelItem {
    let cost = row
        .cost_usd
        .map_or_else(|| "no price".to_owned(), |cost| format!("${cost:.2}"));
    let tokens = figures::tokens(Tokens(row.tokens));
    let resume = format!("dormouse --resume {}", row.session);
    let mut detail: Vec<String> = said
        .iter()
        .flat_map(|said| said.lines().map(str::to_owned))
        .collect();
    detail.extend([
        format!(
            "{} messages, {cost} with {}",
            figures::thousands(row.messages),
            row.model
        ),
        format!(
            "{tokens} tokens in its prompt now, {}",
            figures::count(row.compactions.len(), "compaction", "compactions")
        ),
        format!("folder {}", row.cwd.as_deref().unwrap_or("unknown")),
        row.file.clone(),
        resume.clone(),
    ]);
    PanelItem {
        title: row.title.clone().unwrap_or_else(|| "(no title)".to_owned()),
        aside: format!(
            "{tokens} · {cost} · {}",
            figures::age(host.now(), row.newest)
        ),
        detail,
        actions: vec![go_on(host, row, &resume)],
    }
}

/// Key that goes on with a session: here if it is one of this project, in a shell otherwise.
fn go_on(host: &Host, row: &SessionRow, resume: &str) -> PanelAction {
    let own = host.session_log(&SessionId::new(row.session.as_str()));
    if own.is_ok_and(|own| own == Path::new(&row.file)) {
        return action('r', "go on with it here", Act::Resume(row.session.clone()));
    }
    let folder = row.cwd.as_deref().filter(|folder| !folder.is_empty());
    let there = folder.map_or_else(String::new, |folder| format!("cd '{folder}' && "));
    let words = format!("go on with it in a shell: {there}{resume}");
    action('r', "how to go on", Act::Tell(words))
}
