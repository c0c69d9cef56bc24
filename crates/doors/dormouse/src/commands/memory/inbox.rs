//! `dormouse memory inbox`, `approve`, `reject`: memories that wait for the user.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_host::{Chosen, Decided, InboxList, Which};
use serde::{Serialize, Serializer};
use serde_json::json;

/// Letters of an id that are shown: its time and the first random digits.
const SHORT_ID: usize = 18;

const HELP: &str = "\
What stems from the output of a tool or from a web page waits here until somebody
has looked at it; it is not recalled before.

JSON: {\"items\": [{\"id\", \"time\", \"path\", \"author\", \"trust\", \"reason\",
\"waits_because\", \"content\"}]}";

/// Arguments of `memory inbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Show the whole text of each
    #[arg(long)]
    full: bool,
}

/// Arguments of `memory approve` and `memory reject`.
#[derive(Debug, clap::Args)]
#[command(after_help = "JSON: {\"approved\" or \"rejected\": [{\"id\", \"path\"}]}")]
pub(super) struct DecideArgs {
    /// The items, as `memory inbox` shows them
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// All memories that wait, at once
    #[arg(long, conflicts_with = "ids")]
    all: bool,
}

/// The list, and the form in which it is shown.
#[derive(Serialize)]
#[serde(transparent)]
struct InboxScreen {
    inbox: InboxList,
    #[serde(skip)]
    full: bool,
}

/// Lists the memories that wait for approval.
pub(super) fn list(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let inbox = app.host()?.inbox(which)?;
    let full = args.full;
    app.tell(&InboxScreen { inbox, full })
}

impl Report for InboxScreen {
    fn text(&self, out: &mut Out) -> Outcome {
        if self.inbox.items.is_empty() {
            return Ok(out.line("Nothing waits for approval.")?);
        }
        let now = out.now();
        if self.full {
            for item in &self.inbox.items {
                out.line(
                    Line::new()
                        .role(Role::Strong, short(&item.id))
                        .text(format!("  {}", item.proposal.path)),
                )?;
                // The reason stands above the text: it is what the user has to judge.
                out.paragraph(Role::Dim, &item.proposal.waits_because, 2)?;
                for line in item.proposal.content.lines() {
                    out.line(format!("  {line}"))?;
                }
                out.blank()?;
            }
        } else {
            let mut table = Table::new([
                Column::left("item"),
                Column::left("when"),
                Column::left("file").gives_way(),
                Column::left("says").gives_way(),
                // The reason goes first on a narrow screen: `--full` shows it, while the id is
                // needed to decide.
                Column::left("waits because").gives_way().can_go(),
            ]);
            for item in &self.inbox.items {
                table.row([
                    Cell::with_role(Role::Strong, short(&item.id)),
                    Cell::new(figures::age(now, item.at)),
                    Cell::new(&item.proposal.path),
                    Cell::new(&item.description),
                    Cell::with_role(Role::Dim, &item.proposal.waits_because),
                ]);
            }
            out.table(&table)?;
            out.blank()?;
        }
        let hint = Line::new()
            .role(Role::Hint, "`dormouse memory approve ID`")
            .text(" or ");
        Ok(out.line(hint.role(Role::Hint, "`dormouse memory reject ID`"))?)
    }
}

fn short(id: &str) -> &str {
    // An id of another form is shown whole rather than cut inside a character.
    id.get(..SHORT_ID).unwrap_or(id)
}

fn chosen(args: &DecideArgs) -> Chosen {
    if args.all {
        Chosen::All
    } else {
        Chosen::Ids(args.ids.clone())
    }
}

/// The items that were decided about, and the words for the decision.
struct Decision {
    decided: Decided,
    key: &'static str,
    word: &'static str,
}

/// Approves items: they become memories.
pub(super) fn approve(args: &DecideArgs, which: &Which, app: &mut App) -> Outcome {
    let decided = app.host()?.approve(which, &chosen(args))?;
    app.tell(&Decision {
        decided,
        key: "approved",
        word: "Approved",
    })
}

/// Rejects items: they leave the inbox and are not written.
pub(super) fn reject(args: &DecideArgs, which: &Which, app: &mut App) -> Outcome {
    let decided = app.host()?.reject(which, &chosen(args))?;
    app.tell(&Decision {
        decided,
        key: "rejected",
        word: "Rejected",
    })
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let items = self.decided.items.iter();
        let rows: Vec<_> = items
            .map(|(id, path)| json!({"id": id, "path": path}))
            .collect();
        // One type for both decisions; only the key tells them apart.
        json!({self.key: rows}).serialize(serializer)
    }
}

impl Report for Decision {
    fn text(&self, out: &mut Out) -> Outcome {
        // Only `--all` comes here with nothing: an unknown id is an error.
        if self.decided.items.is_empty() {
            return Ok(out.line("Nothing waits for approval.")?);
        }
        for (_, path) in &self.decided.items {
            let line = Line::new().role(Role::Good, self.word);
            out.line(line.text(format!(": {path}")))?;
        }
        Ok(())
    }
}
