//! Where a text stems from, decided by code.
//!
//! # Model
//! A memory is taken apart into claims. Each must be found in what was said: most of its words, every
//! name and number, and not turned round. It is worth what the least of the spans is worth that are
//! needed to cover it. What the writer says about its source is only a hint: the quote must be there,
//! but a quote of the user's "yes" does not make a tool's words the user's.
//!
//! A claim about what to do that only a question, a supposition or a request of the moment supports is
//! refused; so is what only recalled text supports (an echo), and what nothing supports (invented).
//! Reasons and applications that nothing supports are named, so that they can be left out.

use super::claims::{Place, claims};
use super::evidence::Evidence;
use super::span::Span;
use crate::trust::{Origin, Speaker, Trust};
use dormouse_core::units::Millis;

/// Where a memory stems from.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// How far it may be believed.
    pub trust: Trust,
    /// The span that carries most of it.
    pub origin: Origin,
    /// What supports what.
    pub support: Vec<Support>,
    /// Reasons and applications that nothing supports; to be left out.
    pub unsupported: Vec<String>,
}

/// What supports a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    /// The claim.
    pub claim: String,
    /// The records it was found in.
    pub records: Vec<String>,
    /// What they are worth.
    pub trust: Trust,
}

/// Why a write is refused. The texts are for the model that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedWrite {
    /// The quote is nowhere.
    #[error(
        "not saved: `source` must repeat words of these messages exactly, and \"{0}\" is in none of them; quote what was said, or do not save this"
    )]
    QuoteNotFound(String),
    /// Nothing supports it.
    #[error(
        "not saved: nobody said \"{0}\" in these messages; save only what was said, in the words it was said in"
    )]
    Unsupported(String),
    /// It repeats what was recalled.
    #[error(
        "not saved: \"{0}\" repeats a memory or a reminder that was shown to you; it is known already, leave it out"
    )]
    Echo(String),
    /// The source says the contrary.
    #[error(
        "not saved: \"{0}\" turns round what was said; keep its `not` and its `never` as they were said"
    )]
    Turned(String),
    /// It was asked, supposed or played.
    #[error(
        "not saved: \"{0}\" was a question, a supposition, irony or play, not a statement; do not save it"
    )]
    NotMeant(String),
    /// It holds for the task at hand only.
    #[error("not saved: \"{0}\" is about the task at hand; memories are for later conversations")]
    ForNow(String),
    /// There is no text.
    #[error("not saved: there is nothing in it; give it a description and a body")]
    Empty,
}

/// Finds where a memory stems from. `recalled` are texts that recall and reminders put before the
/// model; fragments among the spans count as such.
pub fn attribute(
    content: &str,
    quote: Option<&str>,
    spans: &[Span],
    recalled: &[&str],
) -> Result<Attribution, RefusedWrite> {
    attribute_new(content, "", quote, spans, recalled)
}

/// The same for a file that exists: what `known` has already needs no source.
pub(super) fn attribute_new(
    content: &str,
    known: &str,
    quote: Option<&str>,
    spans: &[Span],
    recalled: &[&str],
) -> Result<Attribution, RefusedWrite> {
    let claims = claims(content, known);
    if claims.is_empty() {
        return Err(RefusedWrite::Empty);
    }
    let evidence = Evidence::new(content, spans, recalled);
    let mut trust = Trust::User;
    if let Some(quote) = quote.map(str::trim).filter(|quote| !quote.is_empty()) {
        trust = trust.min(evidence.quoted(quote)?);
    }
    let mut found = Attribution {
        trust,
        origin: Origin {
            session: None,
            message: None,
            speaker: Speaker::Tool,
            time: Millis::default(),
        },
        support: Vec::new(),
        unsupported: Vec::new(),
    };
    let mut weights = vec![0_usize; spans.len()];
    for claim in &claims {
        match evidence.support(claim) {
            Ok((trust, used)) => {
                found.trust = found.trust.min(trust);
                for at in &used {
                    weights[*at] += 1;
                }
                let records = used.iter().map(|at| spans[*at].record.clone()).collect();
                let claim = claim.text.clone();
                found.support.push(Support {
                    claim,
                    records,
                    trust,
                });
            }
            Err(RefusedWrite::Unsupported(text)) if claim.place != Place::Statement => {
                found.unsupported.push(text);
            }
            Err(refused) => return Err(refused),
        }
    }
    // The span of the least trust is where doubt belongs; among those the one that carries most.
    let least = |at: &usize| spans[*at].trust().unwrap_or(Trust::External);
    let used = (0..spans.len()).filter(|at| weights[*at] > 0);
    let best = used.max_by_key(|at| (std::cmp::Reverse(least(at)), weights[*at]));
    match best {
        Some(at) => {
            found.origin = spans[at].origin();
            Ok(found)
        }
        None => Err(RefusedWrite::Unsupported(claims[0].text.clone())),
    }
}

#[cfg(test)]
#[path = "attribute_tests.rs"]
mod tests;
