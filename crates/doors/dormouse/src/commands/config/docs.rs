//! `dormouse config docs`: the reference of all settings, from the table that resolves them.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Out, Report};
use dormouse_core::settings::reference_markdown;
use serde::Serialize;

const INTRODUCTION: &str = "\
# Settings

Later layers win: built-in → `/etc/dormouse/settings.toml` (managed; may lock values) → `settings.toml` in the home
directory (`~/.dormouse`) → `.dormouse/settings.toml` of the project → `.dormouse/settings.local.toml` → environment →
`--set key=value`. `dormouse config show` says where each value comes from.

Who may set it: *machine*, only the managed file, the environment and flags; *user*, your own file too; *trusted
project*, a project's file too once you trust its folder (`dormouse config trust`); *project (off only)*, a project's
file too, but only to switch it off; *project*, everyone.

This page is printed by `dormouse config docs`.

";

/// Prints the page. `docs/settings.md` is this output, so that the two cannot differ.
pub(super) fn run(app: &mut App) -> Outcome {
    let markdown = format!("{INTRODUCTION}{}", reference_markdown());
    app.tell(&Page { markdown })
}

/// The reference of all settings, as Markdown.
#[derive(Serialize)]
struct Page {
    markdown: String,
}

impl Report for Page {
    fn text(&self, out: &mut Out) -> Outcome {
        Ok(out.raw(&self.markdown)?)
    }
}
