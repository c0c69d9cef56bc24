//! `--explain N`: the considerations of every layer at one request, and the reasons behind them.

use super::Args;
use super::play::{Conditions, Played, play};
use super::policies::event;
use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Line, Out, OutResult, Report, Role, figures, wrapped};
use dormouse_context::layers::{Consideration, Moment};
use dormouse_drive::Notice;
use dormouse_replay::PolicyRun;
use serde::Serialize;

#[derive(Serialize)]
struct Explanation {
    explained: Vec<Explained>,
}

#[derive(Serialize)]
struct Explained {
    file: String,
    policy: &'static str,
    step: usize,
    of: usize,
    moments: Vec<MomentReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
}

#[derive(Serialize)]
struct MomentReport {
    moment: &'static str,
    used_tokens: u64,
    layers: Vec<LayerReport>,
    arithmetic: Option<String>,
    events: Vec<String>,
}

#[derive(Serialize)]
struct LayerReport {
    layer: &'static str,
    acts: bool,
    why: String,
}

/// Plays the sessions and explains one request of each.
pub(super) fn run(args: &Args, step: usize, conditions: &Conditions, app: &mut App) -> Outcome {
    let played = play(args, conditions, app)?;
    let longest = played.iter().map(Played::steps).max().unwrap_or(0);
    // Checked after playing: the number of requests is known only then.
    if step == 0 || step > longest {
        let message = format!("there is no request {step}: the session has {longest}");
        let hint = "requests are counted from 1; --turns lists them";
        return Err(UserError::new(Exit::Usage, message).hint(hint).into());
    }
    let explained = played.iter().flat_map(|session| {
        // Of several sessions the shorter ones have no such request.
        let runs = session.runs.iter().filter(|run| step <= run.wanted);
        runs.map(|run| explained(&session.name, run, step))
    });
    let report = Explanation {
        explained: explained.collect(),
    };
    app.tell(&report)
}

impl Report for Explanation {
    fn text(&self, out: &mut Out) -> Outcome {
        Ok(show(self, out)?)
    }
}

fn explained(file: &str, run: &PolicyRun, step: usize) -> Explained {
    let mut moments: Vec<MomentReport> = Vec::new();
    // Results are put into files when they arrive, before the planner is asked: they come first.
    let mut offloads = Vec::new();
    for (_, notice) in run.notices.iter().filter(|(at, _)| *at == step) {
        match notice {
            Notice::Considered {
                moment,
                used,
                layers,
                arithmetic,
            } => {
                let offload = offload_layer(run, moments.is_empty(), &offloads);
                moments.push(MomentReport {
                    moment: moment_name(*moment),
                    used_tokens: used.get(),
                    layers: offload
                        .into_iter()
                        .chain(layers.iter().map(layer_report))
                        .collect(),
                    arithmetic: arithmetic.clone(),
                    events: Vec::new(),
                });
            }
            Notice::Offloaded { chars, .. } if moments.is_empty() => offloads.push(format!(
                "a result of {} characters went to a file",
                figures::thousands(*chars)
            )),
            Notice::NotSaved { .. } if moments.is_empty() => offloads.extend(event(notice)),
            other => {
                // Before the first moment no layer was asked: there is no row to put a notice
                // under.
                if let Some(moment) = moments.last_mut() {
                    moment.events.extend(event(other));
                }
            }
        }
    }
    Explained {
        file: file.to_owned(),
        policy: run.policy,
        step,
        of: run.wanted,
        moments,
        lost: run.lost.clone(),
    }
}

const fn moment_name(moment: Moment) -> &'static str {
    match moment {
        Moment::BeforeRequest => "before the request",
        Moment::TurnEnd => "at the end of the turn",
    }
}

fn layer_report(consideration: &Consideration) -> LayerReport {
    LayerReport {
        layer: consideration.layer,
        acts: consideration.acts,
        why: consideration.why.clone(),
    }
}

/// The report of the first layer, at the first moment only: it decides when results arrive, not
/// when the planner is asked.
fn offload_layer(run: &PolicyRun, first: bool, done: &[String]) -> Option<LayerReport> {
    let why = match done {
        _ if !first => return None,
        // These two policies have no first layer at all; the others had nothing long enough.
        [] if run.policy == "none" || run.policy == "openhands" => {
            "the policy puts no results into files".to_owned()
        }
        [] => "no result that came in was long enough for a file".to_owned(),
        done => done.join("; "),
    };
    Some(LayerReport {
        layer: "offload",
        acts: !done.is_empty(),
        why,
    })
}

fn show(report: &Explanation, out: &mut Out) -> OutResult {
    for (at, explained) in report.explained.iter().enumerate() {
        if at > 0 {
            out.blank()?;
        }
        let title = Line::new().role(Role::Strong, explained.policy).role(
            Role::Dim,
            format!(
                " · request {} of {} · {}",
                explained.step, explained.of, explained.file
            ),
        );
        out.line(title)?;
        for (at, moment) in explained.moments.iter().enumerate() {
            // The planner is asked again after each action of a request.
            let again = at > 0 && explained.moments[at - 1].moment == moment.moment;
            show_moment(moment, again, out)?;
        }
        if explained.moments.is_empty() {
            let why = explained.lost.as_deref().unwrap_or("nothing was asked");
            out.paragraph(Role::Warning, &format!("  not reached: {why}"), 2)?;
        }
    }
    Ok(())
}

/// Columns before the reasons: number, name and verdict of a layer.
const REASONS: usize = 20;

fn show_moment(moment: &MomentReport, again: bool, out: &mut Out) -> OutResult {
    out.blank()?;
    let asked = if again { ", asked again" } else { "" };
    out.line(
        Line::new()
            .text(format!("  {}{asked}", moment.moment))
            .role(
                Role::Dim,
                format!(
                    " · {} tokens in use",
                    figures::thousands(moment.used_tokens)
                ),
            ),
    )?;
    let reasons = out.width().saturating_sub(REASONS);
    for layer in &moment.layers {
        let (role, verdict) = if layer.acts {
            (Role::Good, "acts")
        } else {
            (Role::Dim, "–")
        };
        let name = format!("    {} {:<8} ", number(layer.layer), layer.layer);
        let mut start = Line::new().text(name).role(role, format!("{verdict:<5}"));
        for line in lines(&layer.why, reasons) {
            out.line(start.text(line))?;
            start = Line::new().text(" ".repeat(REASONS));
        }
    }
    // Asked again within one request, the figures have hardly changed: they are printed once.
    if let Some(arithmetic) = moment.arithmetic.as_ref().filter(|_| !again) {
        let mut start = Line::new().role(Role::Dim, format!("    {:<16}", "figures"));
        for line in lines(arithmetic, reasons) {
            out.line(start.role(Role::Dim, line))?;
            start = Line::new().text(" ".repeat(REASONS));
        }
    }
    for event in &moment.events {
        let mut start = Line::new().text("    → ");
        for line in lines(event, out.width().saturating_sub(6)) {
            out.line(start.role(Role::Strong, line))?;
            start = Line::new().text("      ");
        }
    }
    Ok(())
}

/// The text in lines that fit, at least one; its own line breaks stay.
fn lines(text: &str, columns: usize) -> Vec<String> {
    let lines: Vec<String> = text
        .lines()
        .flat_map(|line| wrapped(line, columns))
        .collect();
    if lines.is_empty() {
        vec![String::new()]
    } else {
        lines
    }
}

/// The layer's number, as in the documentation.
fn number(layer: &str) -> char {
    match layer {
        "offload" => '1',
        "clear" => '2',
        "notes" => '3',
        "compact" => '4',
        _ => ' ',
    }
}
