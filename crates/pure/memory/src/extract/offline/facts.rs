//! Cues for facts: dates, decisions with their reason, owners, places of things.

use super::cues::{Cue, Hit, hit, points_at_something};
use crate::extract::phrases::{Phrases, listed};
use crate::topic::Kind;
use dormouse_text::atoms::{Shape, atoms};
use dormouse_text::dates::{Form, Precision, dates};
use jiff::civil::Date;

pub(super) fn dated(text: &str, words: &Phrases) -> Option<Hit> {
    const EVENTS: &str = "freeze|release|deadline|launch|demo|migration|sunset|deprecated|cutover|go-live|\
        audit|due|ship|ships|sprint|vacation|holiday|off|starts|start|begins|ends|end|until|\
        by|moved|postponed|scheduled|goes|expires|switch|switching|shut|outage|incident|cut|\
        cutting|review|retire|startet|beginnt|endet|bis|frist|abgabe|termin|urlaub|umzug|\
        launchen|code-freeze|stichtag|live";
    const TALK: &str = "i ran|i tried|i saw|i did|i wrote|i pushed|yesterday i|today i|we did|i changed|\
        i installed|i noticed|since yesterday|i started";
    // The name of a file may hold a date and says nothing by it.
    if text.split_whitespace().any(is_file) {
        return None;
    }
    // Any day will do: only the presence of a date matters here.
    let mentions = dates(text, Date::constant(2026, 1, 1));
    let exact = mentions
        .iter()
        .any(|mention| mention.precision <= Precision::Quarter);
    let event = words.words().any(|word| listed(EVENTS, word));
    let fixed = mentions
        .iter()
        .any(|mention| mention.form == Form::Absolute && mention.precision <= Precision::Day);
    // "I …" with a date is mostly a report of the day, not an event of the project.
    let own = words.starts("i|i'm|i've|ich");
    (exact && (event || (fixed && !own)) && !words.has(TALK))
        .then(|| hit(Cue::Date, Kind::Project, text))
        .flatten()
}

/// True for a path, or a file by its ending.
fn is_file(word: &str) -> bool {
    const ENDINGS: [&str; 9] = [
        ".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".log", ".zip", ".mov",
    ];
    let word = word.trim_matches(['\'', '"', '`', '(', ')', ',', '.', ';', ':']);
    let lower = word.to_lowercase();
    // Three slashes: `and/or` and `client/server` are no paths.
    let path = word.starts_with(['/', '~']) || word.matches('/').count() > 2;
    (path && !word.contains("://")) || ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

pub(super) fn decision(text: &str, words: &Phrases) -> Option<Hit> {
    let ours = words.starts(
        "we|we're|we've|our|the team|wir|unser|unsere|the company|management|legal|compliance|the client|the customer|\
         the reason we|the rewrite|the migration|the",
    ) && !points_at_something(text);
    let reasoned = words.has("because|since|so that|due to|weil|damit|driven by|required by|denn");
    if ours && reasoned {
        return hit(Cue::Decision, Kind::Project, text);
    }
    let owner = words.has(
        "owns|is responsible for|maintains|is in charge of|is the person to ask|is on call|\
            is the owner of|leads the|approves|ist zuständig für|ist verantwortlich für|\
            signs off",
    );
    let asks = words
        .has("ask|talk to|ping|contact|check with|go to|reach out to|frag|wende dich an")
        && words.has("about|for|anything|before|if|wenn|bei|when|regarding|zu")
        // "Ask me" and "can you ask" are about this conversation.
        && !words.has("me|you|i");
    let named = named_after_first(text) || words.starts("the|our") || starts_with_name(text);
    ((owner || asks) && named && !words.starts("it|this|that|which"))
        .then(|| hit(Cue::Decision, Kind::Project, text))
        .flatten()
}

pub(super) fn reference(text: &str, words: &Phrases) -> Option<Hit> {
    const THINGS: &str = "bugs|bug|issues|tickets|docs|documentation|designs|design|runbook|runbooks|\
        dashboard|dashboards|logs|metrics|alerts|roadmap|specs|spec|wiki|tasks|stories|\
        errors|incidents|postmortems|deploys|secrets|feature flags|flags|mockups|schedule|\
        discussions|questions|traces|crashes|translations|releases|builds|board|fehler|doku|\
        dokumentation|aufgaben|entwürfe|requests|feedback|contracts|glossary|screenshots";
    let thing = words.words().any(|word| listed(THINGS, word))
        || words.has("feature flags|feature requests");
    let place = words.has(
        "are tracked in|is tracked in|tracked in|live in|lives in|lives on|live on|are in|\
            is in|are on|is on|are kept in|is kept in|can be found|are documented in|\
            is documented in|is at|are at|go to|goes to|are posted in|are managed in|\
            is managed in|stehen in|liegen in|liegt in|werden in|sind in|happen in|\
            are reported in|we track|we keep|are stored in|end up in|are filed in|belong in",
    );
    let kept = words.near(
        "tracked|collected|kept|stored|documented|managed|filed|posted|reported|discussed|hosted|recorded|listed|\
         published|archived|planned|maintained|find|found|gesammelt|dokumentiert|gepflegt|organised|organized",
        "in|on|at|under|auf|unter|inside|within",
        6,
    );
    let stated = words.starts("the|our|all|die|der|das|unsere")
        && words.near("is|are|lives|live|ist|sind|liegt|liegen|steht|stehen", "in|on|at|auf|under", 1)
        && !words.has(
            "code|api|app|service|backend|frontend|function|class|module|test|tests|script|repo|project|bug|problem|issue|\
             error|library|server|build|i|we|you",
        );
    let url = text.contains("://") || text.contains('#');
    let path =
        atoms(text).any(|atom| atom.shape == Shape::Path && !text[atom.range].contains("://"));
    // A path on disk is structure, which the project tells itself; a name or an address is not.
    (((thing && place) || kept || stated) && (url || named_after_first(text)) && !path)
        .then(|| hit(Cue::Reference, Kind::Reference, text))
        .flatten()
}

/// True if a word behind the first begins with a capital letter, as names do.
fn named_after_first(text: &str) -> bool {
    let capital = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.chars().count() > 1 && word.starts_with(char::is_uppercase)
    };
    text.split_whitespace().skip(1).any(capital)
}

fn starts_with_name(text: &str) -> bool {
    text.trim_start().starts_with(char::is_uppercase)
}
