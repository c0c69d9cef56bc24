//! Stand-in until the guard's own module lands.

/// A credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static str,
    /// Where.
    pub range: std::ops::Range<usize>,
    /// The line.
    pub line: usize,
}

/// Finds credentials.
pub fn scan(_: &str) -> Vec<Finding> {
    Vec::new()
}
