//! Window of a model, as a log proves it.
//!
//! # Model
//! A log has four kinds of evidence, each about the model that answered: a window that the client
//! named; the longest prompt that was answered; the length at which a compaction began by itself,
//! which is near the window's end; and the length before any other compaction, which lay within
//! the window. They are folded record by record ([`observe`]). Of two that contradict each other
//! the newer stays: a session can leave a longer window, and enter one.
//!
//! Windows are sold in a few sizes ([`size_for`]), so a length stands for the size that holds it.
//!
//! # Not here
//! Settings, suffix and model table, which come before and behind the evidence:
//! [`Window::resolve`](crate::window::Window::resolve).

use dormouse_core::models::{ModelTable, Resolved};
use dormouse_core::record::{
    Body, Boundary, NAMED_WINDOW, NamedWindow, Record, Role, StateChange, Trigger, WindowEvidence,
    Windows,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage_book::SYNTHETIC_MODEL;

#[cfg(test)]
#[path = "window_proof_tests.rs"]
mod tests;

/// Sizes in which windows are offered: what most models have, and the two long ones.
const SIZES: [Tokens; 3] = [Tokens(200_000), Tokens(1_000_000), Tokens(2_000_000)];
/// Further sizes of models that the table does not list; the table has the sizes of the others.
const OTHER_SIZES: [Tokens; 2] = [Tokens(256_000), Tokens(400_000)];
/// Step above the longest size: lengths beyond it are not on any list yet.
const BEYOND: u64 = 1_000_000;

/// Hundredths of the window that a prompt before a compaction can come to: results that came in
/// since the last answer count there, and need not have fitted.
const OVERSHOOT: u64 = 115;

/// The smallest size in which this model is offered that holds a prompt of `needed` tokens.
pub fn size_for(needed: Tokens, model: Resolved<'_>) -> Tokens {
    let own = model.is_known().then_some(model.info.window);
    let others = OTHER_SIZES.into_iter().filter(|_| !model.is_known());
    let sizes = SIZES.into_iter().chain(others).chain(own);
    let rounded = Tokens(needed.get().div_ceil(BEYOND).saturating_mul(BEYOND));
    sizes
        .filter(|size| *size >= needed)
        .min()
        .unwrap_or(rounded)
}

/// Tokens that were surely within the window when a compaction began at this length.
pub(crate) fn surely_held(before: Tokens) -> Tokens {
    Tokens(before.get().saturating_mul(100) / OVERSHOOT)
}

/// Name under which evidence on a model is kept: names with and without a date are one model, a
/// suffix that asks for another window is not.
pub fn evidence_name(model: &str, models: &ModelTable) -> String {
    let resolved = models.lookup(model);
    let name = if resolved.is_known() {
        resolved.info.id.clone()
    } else {
        model.to_owned()
    };
    if resolved.million_suffix && resolved.is_known() {
        format!("{name}[1m]")
    } else {
        name
    }
}

/// Evidence of a log on the window of a model, if it has any.
pub fn evidence_on<'w>(
    windows: &'w Windows,
    model: &str,
    models: &ModelTable,
) -> Option<&'w WindowEvidence> {
    windows.by_model.get(&evidence_name(model, models))
}

/// Folds the evidence of a record.
pub fn observe(windows: &mut Windows, record: &Record, models: &ModelTable) {
    match &record.body {
        Body::Message(message) if message.role == Role::Assistant => {
            if let Some((model, usage)) = message.model.as_deref().zip(message.usage) {
                answered(windows, model, usage.prompt(), models);
            }
        }
        Body::Usage(report) if report.purpose.is_turn() => {
            answered(windows, &report.model, report.usage.prompt(), models);
        }
        // Boundaries of Dormouse follow from its settings and prove nothing about the model.
        Body::Boundary(boundary) if boundary.manifest.is_none() => {
            compacted(windows, boundary, models);
        }
        Body::State(StateChange::Fact { name, value }) if name == NAMED_WINDOW => {
            if let Ok(NamedWindow { model, tokens }) = serde_json::from_value(value.clone()) {
                let name = evidence_name(&model, models);
                windows.by_model.entry(name).or_default().named = Some(tokens);
            }
        }
        _ => {}
    }
}

fn answered(windows: &mut Windows, model: &str, prompt: Tokens, models: &ModelTable) {
    // A client's made-up answers and figures of nothing prove nothing.
    if model == SYNTHETIC_MODEL || prompt == Tokens::ZERO {
        return;
    }
    let name = evidence_name(model, models);
    let evidence = windows.by_model.entry(name.clone()).or_default();
    evidence.answered = evidence.answered.max(Some(prompt));
    let limit = |at| size_for(surely_held(at), models.lookup(model));
    if evidence.automatic.is_some_and(|at| prompt > limit(at)) {
        // The session has left the window that compacted there.
        evidence.automatic = None;
    }
    windows.newest = Some((name, prompt));
}

fn compacted(windows: &mut Windows, boundary: &Boundary, models: &ModelTable) {
    let Some(before) = boundary.pre_tokens.filter(|tokens| *tokens > Tokens::ZERO) else {
        return;
    };
    let (name, prompt) = windows.newest.clone().unwrap_or_default();
    let automatic = boundary.trigger == Trigger::Auto;
    let resolved = models.lookup(&name);
    let evidence = windows.by_model.entry(name).or_default();
    if !automatic {
        evidence.held = evidence.held.max(Some(before));
        return;
    }
    let size = size_for(surely_held(before).max(prompt), resolved);
    evidence.automatic = Some(before);
    // Longer prompts than this window takes are of an earlier one.
    evidence.answered = evidence.answered.filter(|answered| *answered <= size);
    evidence.held = evidence.held.filter(|held| surely_held(*held) <= size);
}

/// Puts evidence of an earlier part of a log behind that of a later part, which was folded without
/// it. `model` answered last in the earlier part.
pub fn add_earlier(later: &mut Windows, earlier: Windows, models: &ModelTable) {
    let before = earlier.newest.map(|(name, _)| name);
    // The compaction between the parts was folded before any model was known.
    if let Some(between) = later.by_model.remove("") {
        // Without a response before it, it can only be about the model behind it.
        let after = later.newest.as_ref().map(|(name, _)| name.clone());
        if let Some(name) = before.or(after) {
            let known = later.by_model.remove(&name).unwrap_or_default();
            let merged = behind(between, known, models.lookup(&name));
            later.by_model.insert(name, merged);
        }
    }
    for (name, evidence) in earlier.by_model {
        let known = later.by_model.remove(&name).unwrap_or_default();
        let merged = behind(evidence, known, models.lookup(&name));
        later.by_model.insert(name, merged);
    }
}

/// Earlier evidence completed by later evidence, less what the later contradicts.
fn behind(earlier: WindowEvidence, later: WindowEvidence, model: Resolved<'_>) -> WindowEvidence {
    let limit = |at: Tokens| size_for(surely_held(at), model);
    let upper = later.automatic.map_or(Tokens(u64::MAX), limit);
    let older = earlier
        .automatic
        .filter(|at| later.answered.is_none_or(|answered| answered <= limit(*at)));
    WindowEvidence {
        named: later.named.or(earlier.named),
        answered: later
            .answered
            .max(earlier.answered.filter(|tokens| *tokens <= upper)),
        automatic: later.automatic.or(older),
        held: later
            .held
            .max(earlier.held.filter(|held| surely_held(*held) <= upper)),
    }
}
