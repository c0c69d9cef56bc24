//! Attribution of a text to the spans it stems from, decided by code.
//!
//! # Model
//! A memory is taken apart into claims. Each must be found in the conversation: most of its words,
//! every name and number, and not negated. Its trust is that of the least trusted span needed to
//! cover it. The source that the writer names is only a hint: the quote must be there, but a quote
//! of the user's "yes" does not make a tool's words the user's.
//!
//! A claim that only a question, a supposition or a request of the moment supports is refused; so
//! is one that only recalled text supports (an echo), and one without support (invented). Reasons
//! and applications without support are named, so that they can be left out.
//!
//! # Not here
//! Comparing one claim with the spans (`evidence`); the verdict on the whole memory
//! ([`super::judge`]).

use super::claims::{Place, claims};
use super::evidence::Evidence;
use super::span::Span;
use crate::trust::{Origin, Speaker, Trust};
use dormouse_core::units::Millis;

/// Source of a memory, found by code.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// Least trust of all spans that it needs.
    pub trust: Trust,
    /// Span that the journal names: the least trusted one that carries most claims.
    pub origin: Origin,
    /// Supported claims with their records.
    pub support: Vec<Support>,
    /// Reasons and applications without support; to be left out.
    pub unsupported: Vec<String>,
}

/// Support of one claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    /// Text of the claim.
    pub claim: String,
    /// Ids of the records it was found in.
    pub records: Vec<String>,
    /// Least trust of these records.
    pub trust: Trust,
}

/// Reason why a write is refused. The texts are for the model that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedWrite {
    /// Quoted source is in no span.
    #[error(
        "not saved: `source` must repeat words of these messages exactly, and \"{0}\" is in none of them; quote what was said, or do not save this"
    )]
    QuoteNotFound(String),
    /// Claim without support in any span.
    #[error(
        "not saved: no message says \"{0}\"; save only what was said, in the words it was said in"
    )]
    Unsupported(String),
    /// Claim that only recalled text supports.
    #[error(
        "not saved: \"{0}\" repeats a memory or a reminder that was shown to you; it is known already, leave it out"
    )]
    Echo(String),
    /// Claim that negates its source, or the other way round.
    #[error(
        "not saved: \"{0}\" turns round what was said; keep its `not` and its `never` as they were said"
    )]
    Turned(String),
    /// Claim from a question, a supposition, irony or play.
    #[error(
        "not saved: \"{0}\" was a question, a supposition, irony or play, not a statement; do not save it"
    )]
    NotMeant(String),
    /// Claim that holds for the task at hand only.
    #[error("not saved: \"{0}\" is about the task at hand; memories are for later conversations")]
    ForNow(String),
    /// File without description and body.
    #[error("not saved: there is nothing in it; give it a description and a body")]
    Empty,
}

/// Attributes a memory. `recalled` are texts that recall and reminders put before the model;
/// fragments among the spans count as such.
pub fn attribute(
    content: &str,
    quote: Option<&str>,
    spans: &[Span],
    recalled: &[&str],
) -> Result<Attribution, RefusedWrite> {
    attribute_new(content, "", quote, spans, recalled)
}

/// Attribution for a file that exists: sentences that `known` has already need no source.
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
    // Starts at the top; every span that is needed can only lower it.
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
            // Models add a plausible reason to every rule; that costs the reason, not the rule.
            Err(RefusedWrite::Unsupported(text)) if claim.place != Place::Statement => {
                found.unsupported.push(text);
            }
            Err(refused) => return Err(refused),
        }
    }
    // Doubt must stay visible: the least trusted span first, among those the one that carries most.
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
