//! Until the guard lands.
use std::fmt;
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafePath(String);
#[derive(Clone, Debug)]
pub struct PathRefusal(&'static str);
impl fmt::Display for PathRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
impl fmt::Display for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl SafePath {
    pub fn parse(text: &str) -> Result<Self, PathRefusal> {
        let low = text.to_ascii_lowercase();
        if ["%2e", "%2f", "%5c", "%00"].iter().any(|p| low.contains(p)) {
            return Err(PathRefusal("percent"));
        }
        if text.contains('\\') || text.chars().any(char::is_control) || text.len() > 1000 {
            return Err(PathRefusal("bad"));
        }
        if text
            .split('/')
            .any(|c| c.is_empty() || c == "." || c == ".." || c.len() > 255)
        {
            return Err(PathRefusal("component"));
        }
        Ok(Self(text.to_owned()))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
    pub fn join(&self, name: &str) -> Result<Self, PathRefusal> {
        Self::parse(&format!("{}/{name}", self.0))
    }
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
    pub fn same_on_any_disk(&self, other: &Self) -> bool {
        self.0.to_lowercase() == other.0.to_lowercase()
    }
}
