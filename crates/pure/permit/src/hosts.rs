//! Patterns of hosts: `example.org`, `*.example.org`.

/// Pattern of a host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern(String);

impl HostPattern {
    /// Pattern behind `domain:`, in lower case.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.trim().to_lowercase())
    }

    /// True if the host is named; `*.example.org` names every host below `example.org`.
    pub(crate) fn names(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_lowercase();
        match self.0.strip_prefix("*.") {
            Some(domain) => host
                .strip_suffix(domain)
                .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1),
            None => self.0 == "*" || self.0 == host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_hosts_below() {
        let below = HostPattern::new("*.Example.org");
        assert!(below.names("docs.example.org") && below.names("a.b.example.org."));
        assert!(!below.names("example.org") && !below.names("badexample.org"));
        assert!(!below.names(".example.org"));
        assert!(HostPattern::new("example.org").names("EXAMPLE.org"));
    }
}
