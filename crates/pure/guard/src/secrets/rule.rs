//! One row of the table.

/// How much of the text a rule sees at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The line a keyword stands on.
    Line,
    /// From the keyword on, over several lines.
    Block,
}

/// What else a match must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// Nothing: the format itself is proof enough.
    Format,
    /// The same, for something so long that any word may occur in it.
    Block,
    /// Letters and digits mixed, or digits alone, and nothing that reads like code.
    LooksRandom,
    /// What a person would choose as a password, and no word for one.
    Password,
}

/// A format of a credential.
#[derive(Debug)]
pub(super) struct Rule {
    /// Its name, as findings show it.
    pub(super) name: &'static str,
    /// At least one of these stands in every text the pattern matches, in whatever case.
    pub(super) keywords: &'static [&'static str],
    /// A regular expression. The group `secret` is what is found; without one, the whole match.
    pub(super) pattern: &'static str,
    /// Bits a byte below which a match is no key.
    pub(super) floor: f64,
    /// How much it sees.
    pub(super) reach: Reach,
    /// What else is asked of a match.
    pub(super) demand: Demand,
}

/// Enough for a key with a prefix of its own: keeps out `ghp_xxxx…` and rows of zeros.
const PREFIX_FLOOR: f64 = 2.5;

/// A key that shows what it is by its form.
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
    /// The same with another floor.
    pub(super) const fn floor(mut self, floor: f64) -> Self {
        self.floor = floor;
        self
    }

    /// The same over several lines.
    pub(super) const fn block(mut self) -> Self {
        self.reach = Reach::Block;
        self.demand = Demand::Block;
        self
    }

    /// The same with a demand.
    pub(super) const fn demand(mut self, demand: Demand) -> Self {
        self.demand = demand;
        self
    }
}
