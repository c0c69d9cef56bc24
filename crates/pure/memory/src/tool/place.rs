//! Path as the model writes it.

use dormouse_core::show;
use dormouse_guard::paths::SafePath;
use std::fmt;

/// Root of the memory, as the model sees it; the name comes with the provider's tool.
pub const ROOT: &str = "/memories";

/// Most characters of a refused path that are repeated to the model: a whole usual path, but no
/// page of text.
const SHOWN: usize = 200;

/// Place at or below [`ROOT`]. Shown as the model writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPath(Option<SafePath>);

impl ToolPath {
    /// Checks a path as text. The error is a sentence that names the path and the remedy.
    ///
    /// One slash at the end is accepted, because models write directories that way. Hidden names
    /// are refused: journal, inbox and caches are not the model's.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refused = |why: &str| {
            format!(
                "Error: The path {} is not allowed: {why}. Paths start with {ROOT}, as in {ROOT}/notes.md",
                show::shortened(text, SHOWN)
            )
        };
        let below = match text.strip_prefix(ROOT) {
            Some("" | "/") => return Ok(Self(None)),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let below = below.ok_or_else(|| refused(&format!("it is not below {ROOT}")))?;
        let below = below.strip_suffix('/').unwrap_or(below);
        // `//` would read as an absolute path below.
        if below.starts_with('/') {
            return Err(refused("it has an empty component"));
        }
        let path = SafePath::parse(below).map_err(|refusal| refused(&refusal.to_string()))?;
        if path.is_hidden() {
            return Err(refused("names that begin with a dot are reserved"));
        }
        Ok(Self(Some(path)))
    }

    /// Path below the root; `None` is the root itself.
    pub fn below(&self) -> Option<&SafePath> {
        self.0.as_ref()
    }
}

impl From<SafePath> for ToolPath {
    fn from(path: SafePath) -> Self {
        Self(Some(path))
    }
}

impl fmt::Display for ToolPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str(ROOT),
            Some(path) => write!(f, "{ROOT}/{path}"),
        }
    }
}
