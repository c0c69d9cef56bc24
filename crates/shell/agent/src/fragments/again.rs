//! News that a compaction shows again, because the fragments that told them are summarised away.

use super::{Fragments, Inner, Told, short, state_name, status};
use crate::crew::Crew;
use crate::plan::Plans;
use crate::surroundings;
use dormouse_context::compaction::{RestoredKind, RestoredPart};
use dormouse_engine::Injection;
use dormouse_tools::Todo;

impl Fragments {
    /// Parts for the prompt behind a compaction, those of each kind newest first.
    pub(crate) fn restored(&self) -> Vec<RestoredPart> {
        let inner = &self.0;
        let told = inner.told().clone();
        let skills = inner.beside.skills.iter();
        let mut parts: Vec<RestoredPart> = skills
            .flat_map(|skills| skills.restored(&told.skills))
            .collect();
        parts.extend(inner.beside.plans.as_ref().and_then(Plans::restored));
        parts.extend(todos(&inner.tools.todos()));
        parts.extend(inner.at_work());
        let folder = &inner.host.places().current_dir;
        let facts = surroundings::facts(folder, &inner.host.today());
        parts.extend(listing("surroundings", Some(facts)));
        let agents = inner.beside.crew.as_ref().and_then(Crew::listing);
        parts.extend(listing("agents", agents));
        parts.extend(inner.beside.servers.restored());
        parts
    }

    /// Forgets which instruction files were told: those of the beginning are in the prefix that is made
    /// now, and those of folders are told again when a file there is read.
    pub(crate) fn forget_instructions(&self) {
        let inner = &self.0;
        // A tree that cannot be read leaves everything as it is.
        let Ok(files) = inner.host.instruction_files() else {
            return;
        };
        *inner.instructions() = files;
        let mut told = inner.told().clone();
        told.instructions = inner.digests();
        told.nested.clear();
        inner.tell(told, Vec::new());
    }
}

impl Inner {
    /// Skills that came, changed or went since they were told.
    pub(super) fn skilled(&self, told: &mut Told) -> Option<Injection> {
        let news = self.beside.skills.as_ref()?.news(&told.skills);
        told.skills = news.known;
        Some(status(&news.text?))
    }

    /// Plan mode, if it was switched since it was told.
    pub(super) fn planning(&self, told: &mut Told) -> Option<Injection> {
        let text = self.beside.plans.as_ref()?.news(&mut told.plan)?;
        Some(status(&text))
    }

    /// Agents and commands that work beside the conversation.
    fn at_work(&self) -> Option<RestoredPart> {
        let agents = self.beside.crew.iter().flat_map(Crew::working);
        let mut lines: Vec<String> = agents
            .map(|(id, what)| format!("- agent {id}: {}", short(&what)))
            .collect();
        let commands = self.tools.running().into_iter();
        lines.extend(commands.map(|(id, line)| format!("- command {id}: {}", short(&line))));
        (!lines.is_empty()).then(|| RestoredPart {
            kind: RestoredKind::Agents,
            name: "at work in the background".to_owned(),
            text: lines.join("\n"),
        })
    }
}

fn listing(name: &str, text: Option<String>) -> Option<RestoredPart> {
    text.map(|text| RestoredPart {
        kind: RestoredKind::Listing,
        name: name.to_owned(),
        text,
    })
}

fn todos(todos: &[Todo]) -> Option<RestoredPart> {
    let line = |todo: &Todo| format!("- [{}] {}", state_name(todo.status), short(&todo.content));
    let lines: Vec<String> = todos.iter().map(line).collect();
    (!lines.is_empty()).then(|| RestoredPart {
        kind: RestoredKind::Todos,
        name: "list of to-dos".to_owned(),
        text: lines.join("\n"),
    })
}
