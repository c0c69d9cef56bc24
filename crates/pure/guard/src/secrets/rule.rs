//! Row of the rule table.

/// Extent of text that a rule sees at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Line that contains the keyword.
    Line,
    /// Text from the keyword on, over several lines.
    Block,
}

/// Additional demand on a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// No placeholder; the format itself is sufficient evidence.
    Format,
    /// No ellipsis; for blocks so long that any placeholder word may occur by chance.
    Block,
    /// Letters and digits mixed, or digits alone, and no code.
    LooksRandom,
    /// Plausible password, and no word that stands for one.
    Password,
}

/// Format of a credential.
#[derive(Debug)]
pub(super) struct Rule {
    /// Name as shown in findings.
    pub(super) name: &'static str,
    /// Keywords, of which each match contains at least one, case-insensitive.
    pub(super) keywords: &'static [&'static str],
    /// Regular expression. The group `secret` is the credential; without one, the whole match.
    pub(super) pattern: &'static str,
    /// Least entropy of a match, in bits per byte.
    pub(super) floor: f64,
    /// Extent of text that it sees.
    pub(super) reach: Reach,
    /// Additional demand on a match.
    pub(super) demand: Demand,
}

/// Least entropy of a key with a distinctive prefix: excludes `ghp_xxxx…` and rows of zeros, and
/// stays well below the 4 bits of random hexadecimal digits.
const PREFIX_FLOOR: f64 = 2.5;

/// Rule for a key that its form identifies.
pub(super) const fn token(
    name: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    Rule {
        name,
        keywords,
        pattern,
        floor: PREFIX_FLOOR,
        reach: Reach::Line,
        demand: Demand::Format,
    }
}

impl Rule {
    /// Rule with another least entropy.
    pub(super) const fn floor(mut self, floor: f64) -> Self {
        self.floor = floor;
        self
    }

    /// Rule that sees several lines.
    pub(super) const fn block(mut self) -> Self {
        self.reach = Reach::Block;
        self.demand = Demand::Block;
        self
    }

    /// Rule with an additional demand.
    pub(super) const fn demand(mut self, demand: Demand) -> Self {
        self.demand = demand;
        self
    }
}
