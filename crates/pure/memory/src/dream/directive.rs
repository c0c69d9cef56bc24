//! Directive for a model that dreams.

use super::REPORT;
use crate::index::Limits;
use dormouse_core::settings::Percent;
use jiff::civil::Date;

const DIRECTIVE: &str = include_str!("directive.md");

/// Facts that the directive names.
#[derive(Clone, Debug)]
pub struct Brief<'a> {
    /// Path of the staged copy.
    pub staging: &'a str,
    /// Folder of the transcripts, if there are any to search.
    pub transcripts: Option<&'a str>,
    /// Ids of the sessions since the last dream.
    pub sessions: &'a [String],
    /// Day of the dream; relative dates are resolved with it.
    pub today: Date,
    /// Limits of the index.
    pub index: Limits,
    /// Share of the memories that may be lost without a reason (`dream.loss`).
    pub loss: Percent,
}

/// Fills the places of the directive.
pub fn directive(brief: &Brief<'_>) -> String {
    let transcripts = match brief.transcripts {
        Some(place) => format!(
            "The transcripts of past sessions are in `{place}`. They are large: search them for a few \
             narrow words each time and read the lines around a hit, never a whole file. Sessions since \
             the last dream: {}.",
            if brief.sessions.is_empty() {
                "none".to_owned()
            } else {
                brief.sessions.join(", ")
            }
        ),
        // Said outright, because a model that is told nothing goes looking for them.
        None => "There are no transcripts to search.".to_owned(),
    };
    DIRECTIVE
        .replace("{{staging}}", brief.staging)
        .replace("{{transcripts}}", &transcripts)
        .replace("{{today}}", &brief.today.to_string())
        .replace("{{lines}}", &brief.index.lines.to_string())
        .replace("{{bytes}}", &brief.index.bytes.to_string())
        .replace("{{loss}}", &brief.loss.to_string())
        .replace("{{report}}", REPORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_directive_as_it_is_sent() {
        let text = directive(&Brief {
            staging: "/staged/d1",
            transcripts: Some("/sessions"),
            sessions: &["s1".into(), "s2".into()],
            today: date(2026, 11, 15),
            index: Limits {
                lines: 200,
                bytes: 25_000,
            },
            loss: Percent::new(25.0).unwrap(),
        });
        assert!(!text.contains("{{"));
        assert_eq!(text, include_str!("directive_rendered.md"));
    }
}
