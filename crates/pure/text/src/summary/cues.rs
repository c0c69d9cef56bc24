//! Cues that a sentence states a fact, a rule or a request.
//!
//! Words are compared by their beginnings, in lower case, in English and German. Cues only move a
//! score, so a miss costs little.

use super::corpus::Sentence;
use super::{Feature, Score, Voice};
use crate::atoms::{Shape, atoms};
use crate::segment::Kind;

/// Beginnings of words that state a decision, a reason or a rule.
const DECISION: [&str; 46] = [
    "always",
    "because",
    "cannot",
    "changed",
    "chose",
    "chosen",
    "conclu",
    "confirm",
    "convention",
    "decid",
    "decision",
    "deadline",
    "discover",
    "due",
    "fixed",
    "found",
    "instead",
    "important",
    "must",
    "never",
    "only",
    "prefer",
    "reason",
    "reject",
    "remember",
    "require",
    "resolv",
    "root",
    "solution",
    "switched",
    "therefore",
    "turns",
    "won't",
    "entschied",
    "entscheidung",
    "gefunden",
    "grund",
    "immer",
    "lösung",
    "muss",
    "müssen",
    "nie",
    "niemals",
    "statt",
    "stattdessen",
    "wichtig",
];

/// Beginnings of words that report an error.
const ERROR: [&str; 26] = [
    "abort",
    "broken",
    "bug",
    "conflict",
    "corrupt",
    "crash",
    "denied",
    "error",
    "exception",
    "fail",
    "fatal",
    "invalid",
    "leak",
    "missing",
    "panic",
    "refused",
    "regress",
    "segfault",
    "timeout",
    "undefined",
    "unexpected",
    "warning",
    "wrong",
    "fehler",
    "fehlgeschlagen",
    "kaputt",
];

/// Words with which a user begins a request; compared whole.
const REQUEST: [&str; 48] = [
    "add",
    "avoid",
    "build",
    "change",
    "check",
    "commit",
    "create",
    "delete",
    "deploy",
    "do",
    "don't",
    "ensure",
    "explain",
    "find",
    "fix",
    "implement",
    "keep",
    "let's",
    "make",
    "merge",
    "move",
    "need",
    "please",
    "push",
    "refactor",
    "remove",
    "rename",
    "replace",
    "revert",
    "run",
    "show",
    "stop",
    "test",
    "update",
    "use",
    "want",
    "write",
    "ändere",
    "baue",
    "bitte",
    "entferne",
    "erstelle",
    "füge",
    "lass",
    "mach",
    "nimm",
    "prüfe",
    "schreib",
];

/// Cues found in a sentence.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether a cue is there; no two of them make a state"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cues {
    numbers: usize,
    names: usize,
    words: usize,
    decision: bool,
    error: bool,
    question: bool,
    request: bool,
}

impl Cues {
    pub(super) fn read(text: &str, voice: Voice) -> Self {
        let mut cues = Self {
            question: text
                .trim_end_matches(['"', ')', '*'])
                .ends_with(['?', '？']),
            ..Self::default()
        };
        let mut lower = String::new();
        for atom in atoms(text) {
            match atom.shape {
                Shape::Number => cues.numbers += 1,
                Shape::Word => {}
                _ => cues.names += 1,
            }
            lower.clear();
            lower.extend(
                text[atom.range]
                    .chars()
                    // 24 characters cover the longest cue; the rest of a long word is not compared.
                    .take(24)
                    .flat_map(char::to_lowercase),
            );
            cues.words += usize::from(atom.shape == Shape::Word && lower.len() > 1);
            cues.decision |= starts_with_any(&lower, &DECISION);
            cues.error |= starts_with_any(&lower, &ERROR);
            // Only at the start: "run the tests" is a request, "the tests were run" a report.
            cues.request |=
                voice == Voice::User && cues.words <= 4 && REQUEST.contains(&lower.as_str());
        }
        cues
    }
}

fn starts_with_any(word: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| {
        // Short cues have to match the whole word: "due" is not "duet".
        word == *start || (start.len() > 4 && word.starts_with(start))
    })
}

/// Adds the weights of the cues. They were chosen by judgement and not fitted to the test facts,
/// except that tool output went from -0.5 to -0.7, because it took most of the room
/// (`docs/text-methods.md`).
pub(super) fn score(cues: &Cues, sentence: &Sentence, voice: Voice, score: &mut Score) {
    let when = |holds: bool, weight: f32| if holds { weight } else { 0.0 };
    // Three numbers or names mark a sentence as concrete; a table of fifty is not better.
    #[expect(clippy::cast_precision_loss, reason = "at most three")]
    let up_to_three = |count: usize| count.min(3) as f32;
    // A fragment of one or two words states little by itself, even from the user.
    let fragment = cues.words + cues.names < 3;
    score.add(
        Feature::UserVoice,
        when(voice == Voice::User && !fragment, 0.6),
    );
    score.add(Feature::Request, when(cues.request, 0.4));
    score.add(Feature::Decision, when(cues.decision, 0.4));
    score.add(Feature::Error, when(cues.error, 0.3));
    score.add(Feature::Question, when(cues.question, 0.1));
    score.add(Feature::Number, 0.12 * up_to_three(cues.numbers));
    score.add(Feature::Name, 0.12 * up_to_three(cues.names));
    let tool = when(voice == Voice::Tool, -0.7);
    score.add(
        Feature::Kind,
        kind(sentence.kind) + tool + when(fragment, -0.6),
    );
}

fn kind(kind: Kind) -> f32 {
    match kind {
        Kind::Prose | Kind::ListItem | Kind::Blank => 0.0,
        Kind::Heading => 0.1,
        Kind::Quote => -0.1,
        Kind::TableRow => -0.2,
        Kind::Log => -0.3,
        Kind::Code | Kind::Fence => -0.6,
        Kind::Trace => -0.4,
    }
}
