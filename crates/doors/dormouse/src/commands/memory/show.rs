//! `dormouse memory show`.

use super::names;
use super::place::{Which, find};
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Format, Line, Role, figures};
use dormouse_core::units::Millis;
use dormouse_memory::snapshot::is_pinned;
use dormouse_memory::topic::{Kind, Topic};
use dormouse_memory::trust::Trust;
use dormouse_memory::write::dependents;
use serde_json::json;

const HELP: &str = "\
JSON: {\"path\", \"name\", \"description\", \"type\", \"trust\", \"origin\", \"triggers\",
\"superseded_by\", \"valid_until\", \"over\", \"pinned\", \"modified\", \"linked_from\", \"text\"}";

/// Arguments of `memory show`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The memory
    #[arg(value_name = "NAME")]
    name: String,
}

/// The day of a moment, in universal time.
pub(crate) fn day(now: Millis) -> jiff::civil::Date {
    let at = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Shows one.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let found = find(which, app)?;
    let snapshot = found.snapshot(app)?;
    let path = names::find(&snapshot, &args.name)?;
    let Some(file) = snapshot.get(&path) else {
        return Ok(());
    };
    let text = file.text().into_owned();
    let topic = Topic::read(&text);
    let now = app.system.clock.now();
    let links: Vec<String> = dependents(&snapshot, &path)
        .iter()
        .map(ToString::to_string)
        .collect();
    if app.out.format() == Format::Json {
        return Ok(app.out.json(&json!({
            "path": path,
            "name": topic.name,
            "description": topic.description,
            "type": topic.kind.map(Kind::name),
            "trust": topic.trust.map(Trust::name),
            "origin": topic.origin,
            "triggers": topic.triggers,
            "superseded_by": topic.superseded_by,
            "valid_until": topic.valid_until,
            "over": topic.is_over(day(now)),
            "pinned": is_pinned(&path),
            "modified": file.modified.to_string(),
            "linked_from": links,
            "text": text,
        }))?);
    }
    let age = figures::age(now, file.modified);
    let mut about = vec![format!("changed {age}")];
    about.push(match topic.trust {
        Some(trust) => format!("trust: {trust}"),
        None => "written by hand".to_owned(),
    });
    if let Some(origin) = &topic.origin {
        let said = format!("said by the {}", origin.speaker.name());
        about.push(match &origin.session {
            Some(session) => format!("{said} in {session}"),
            None => said,
        });
    }
    if let Some(by) = &topic.superseded_by {
        about.push(format!("overtaken by {by}"));
    }
    if let Some(until) = &topic.valid_until {
        about.push(format!("valid until {until}"));
    }
    if !links.is_empty() {
        about.push(format!("linked from {}", links.join(", ")));
    }
    app.out.line(Line::new().role(Role::Strong, &path))?;
    app.out.paragraph(Role::Dim, &about.join(" · "), 0)?;
    app.out.blank()?;
    for line in text.lines() {
        app.out.line(line)?;
    }
    Ok(())
}
