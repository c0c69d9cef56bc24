//! `dormouse memory show`: one memory, its origin and its trust.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Line, Out, Report, Role, figures};
use dormouse_host::{MemoryShown, Which};

const HELP: &str = "\
JSON: {\"path\", \"name\", \"description\", \"type\", \"trust\", \"origin\", \"triggers\",
\"superseded_by\", \"valid_until\", \"over\", \"pinned\", \"modified\", \"linked_from\", \"text\"}";

/// Arguments of `memory show`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The memory, by its file or its name
    #[arg(value_name = "NAME")]
    name: String,
}

/// Shows one memory with its text.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let memory = app.host()?.memory(which, &args.name)?;
    app.tell(&memory)
}

impl Report for MemoryShown {
    fn text(&self, out: &mut Out) -> Outcome {
        let age = figures::age(out.now(), self.at);
        let mut about = vec![format!("changed {age}")];
        about.push(match self.trust {
            Some(trust) => format!("trust: {trust}"),
            None => "written by hand".to_owned(),
        });
        if let Some(origin) = &self.origin {
            let said = format!("said by the {}", origin.speaker.name());
            about.push(match &origin.session {
                Some(session) => format!("{said} in {session}"),
                None => said,
            });
        }
        if let Some(by) = &self.superseded_by {
            about.push(format!("overtaken by {by}"));
        }
        if let Some(until) = &self.valid_until {
            about.push(format!("valid until {until}"));
        }
        if !self.linked_from.is_empty() {
            about.push(format!("linked from {}", self.linked_from.join(", ")));
        }
        out.line(Line::new().role(Role::Strong, &self.path))?;
        out.paragraph(Role::Dim, &about.join(" · "), 0)?;
        out.blank()?;
        for line in self.text.lines() {
            out.line(line)?;
        }
        Ok(())
    }
}
