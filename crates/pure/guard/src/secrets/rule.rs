//! Row of the rule table.

use serde::Deserialize;

/// Least entropy of a key with a distinctive prefix: excludes `ghp_xxxx…` and rows of zeros, and
/// stays well below the 4 bits of random hexadecimal digits.
const PREFIX_FLOOR: f64 = 2.5;

/// Extent of text that a rule sees at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reach {
    /// Line that contains the keyword.
    #[default]
    Line,
    /// Text from the keyword on, over several lines.
    Block,
}

/// Additional demand on a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Demand {
    /// No placeholder; the format itself is sufficient evidence.
    #[default]
    Format,
    /// No ellipsis; for blocks so long that any placeholder word may occur by chance.
    Block,
    /// Letters and digits mixed, or digits alone, and no code.
    Random,
    /// Anything but a placeholder or a word that stands for a password: nothing else can be at
    /// this position.
    Position,
    /// Plausible password: the position may also hold a name or an expression.
    Password,
}

/// Format of a credential, a row of `data/secrets`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    name: String,
    source: String,
    samples: Vec<String>,
    /// Keywords, of which each match contains at least one, case-insensitive.
    pub(super) keywords: Vec<String>,
    /// Regular expression. The group `secret` is the credential; without one, the whole match.
    pub(super) pattern: String,
    /// Least entropy of a match, in bits per byte.
    #[serde(default = "prefix_floor")]
    pub(super) floor: f64,
    /// Extent of text that it sees.
    #[serde(default)]
    pub(super) reach: Reach,
    /// Additional demand on a match.
    #[serde(default)]
    pub(super) demand: Demand,
}

fn prefix_floor() -> f64 {
    PREFIX_FLOOR
}

impl Rule {
    /// Name as shown in findings. Rules for the same credential share it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Documentation that describes the format.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Texts that the rule has to find once their slots `«kind length»` hold random characters.
    pub fn samples(&self) -> &[String] {
        &self.samples
    }
}
