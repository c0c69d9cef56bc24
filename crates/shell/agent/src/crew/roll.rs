//! Roll call of the agents that are at work.

use super::{Crew, State};

impl Crew {
    /// Agents at work, by id and description.
    pub(crate) fn working(&self) -> Vec<(String, String)> {
        let members = self.members();
        let working = members
            .iter()
            .filter(|(_, one)| matches!(one.state, State::Working));
        working
            .map(|(id, one)| (id.as_str().to_owned(), one.what.clone()))
            .collect()
    }
}
