//! `dormouse doctor`: what a session needs or could use, what is missing, what it would give.
//!
//! # Not here
//! Looking at any of it: the host's diagnosis.

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role, figures, wrapped};
use dormouse_core::units::Tokens;
use dormouse_host::{Diagnosis, LocalServer};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::IsTerminal as _;

const HELP: &str = "\
Nothing is changed, and no key is ever printed. Only this machine is asked for
servers: the usual ports of Ollama (11434), vLLM (8000), llama.cpp (8080) and LM
Studio (1234), and `local.base_url`.

Exit code 0 if a session could start, 3 if not.

JSON: {\"ready\", \"model\": {\"name\", \"provider\", \"url\", \"has_key\", \"quirk\",
\"window\", \"known\", \"small\", \"fallback\", \"missing\"}, \"keys\": [{\"setting\",
\"from\"}], \"servers\": [{\"provider\", \"title\", \"url\", \"usual\", \"models\": [{\"id\",
\"window\"}], \"quirk\"}], \"sandbox\": {\"strength\", \"why\"}, \"programs\": [{\"name\",
\"path\"}], \"home\": {\"path\", \"exists\", \"unwritable\"}, \"memory\": {\"directory\",
\"off\", \"memories\", \"problems\", \"unreadable\"}, \"settings\": [{\"name\", \"path\",
\"usable\"}], \"issues\": [text], \"trust\": {\"folder\", \"trusted\", \"ignored\"},
\"terminal\": {\"output\", \"columns\", \"colour\"}}";

/// Arguments of `dormouse doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {}

/// Columns of a label: the longest is "Programs", and a gap sets the texts apart.
const LABEL: usize = 10;
/// Models of a server that a person is shown; more are counted.
const SHOWN_MODELS: usize = 4;

/// Looks at everything and prints it.
pub fn run(_: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    // The report lists the issues itself.
    drop(host.take_remarks());
    let diagnosis = runtime()?.block_on(host.diagnose());
    let terminal = TerminalFacts {
        output: std::io::stdout().is_terminal(),
        columns: app.out.width(),
        colour: app.out.has_color(),
    };
    app.tell(&Doctor {
        diagnosis,
        terminal,
    })
}

/// A runtime for questions to the network.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| UserError::of(Exit::Unexpected, &error).into())
}

#[derive(Serialize)]
struct Doctor {
    #[serde(flatten)]
    diagnosis: Diagnosis,
    terminal: TerminalFacts,
}

#[derive(Serialize)]
struct TerminalFacts {
    output: bool,
    columns: usize,
    colour: bool,
}

impl Report for Doctor {
    fn text(&self, out: &mut Out) -> Outcome {
        let it = &self.diagnosis;
        model(it, out)?;
        for server in &it.servers {
            good("Server", &described(server), out)?;
            if it.model.missing.is_some() {
                detail(&format!("to use it: {}", commands(server)), out)?;
            }
            if let Some(quirk) = server.quirk {
                detail(&format!("{} {quirk}", server.title), out)?;
            }
        }
        if it.servers.is_empty() {
            labelled("Server", Role::Dim, "none runs on this machine", out)?;
            detail(
                "one (Ollama, vLLM, llama.cpp, LM Studio) gives a model without a key or a bill",
                out,
            )?;
        }
        sandbox(it, out)?;
        programs(it, out)?;
        home(it, out)?;
        settings(it, out)?;
        self.terminal(out)?;
        out.blank()?;
        let (role, verdict) = if it.ready {
            (Role::Good, "A session can start: dormouse -p 'PROMPT'")
        } else {
            (
                Role::Error,
                "No session can start. Replay, search, recall and memory work without a model.",
            )
        };
        Ok(out.paragraph(role, verdict, 0)?)
    }

    fn verdict(&self) -> Outcome {
        if self.diagnosis.ready {
            return Ok(());
        }
        Err(Failure::Told(Exit::Unreadable))
    }
}

impl Doctor {
    fn terminal(&self, out: &mut Out) -> Outcome {
        let TerminalFacts {
            output,
            columns,
            colour,
        } = self.terminal;
        let what = if output { "a terminal" } else { "no terminal" };
        let colour = if colour { "colour" } else { "no colour" };
        labelled(
            "Terminal",
            Role::Plain,
            &format!("{what}, {columns} columns, {colour}"),
            out,
        )
    }
}

/// A server in a line.
pub fn described(server: &LocalServer) -> String {
    let named = server.models.iter().take(SHOWN_MODELS).map(|model| {
        let window = model
            .window
            .map(|window| format!(" ({})", figures::tokens(window)));
        format!("{}{}", model.id, window.unwrap_or_default())
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if named.is_empty() {
        "no model".clone_into(&mut named);
    }
    let more = server.models.len().saturating_sub(SHOWN_MODELS);
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = write!(named, " and {more} more");
    }
    format!("{} at {}: {named}", server.title, server.url)
}

/// Commands that make a server the provider.
pub fn commands(server: &LocalServer) -> String {
    let model = server.models.first().map_or("MODEL", |model| &model.id);
    let mut text = format!(
        "dormouse config set provider {} && dormouse config set model {model}",
        server.provider
    );
    if !server.usual {
        let _ = write!(
            text,
            " && dormouse config set local.base_url {}",
            server.url
        );
    }
    if let Some(window) = server.models.first().and_then(|model| model.window) {
        let _ = write!(
            text,
            " && dormouse config set context.window {}",
            window.get()
        );
    }
    text
}

fn model(it: &Diagnosis, out: &mut Out) -> Outcome {
    let model = &it.model;
    if let Some(why) = &model.missing {
        labelled("Model", Role::Error, &format!("missing: {why}"), out)?;
        let text = "a model gives answers; set ANTHROPIC_API_KEY and `dormouse config set model NAME`, \
                    or another `provider`";
        detail(text, out)?;
    } else {
        let name = model.name.as_deref().unwrap_or_default();
        let url = model.url.as_deref().unwrap_or_default();
        let key = if model.has_key { "" } else { ", without a key" };
        good("Model", &format!("{name} at {url}{key}"), out)?;
        if !model.known {
            let window = figures::thousands(model.window.map_or(0, Tokens::get));
            let text = format!(
                "not in the table of models: no cost is told, and its window is taken for {window} \
                 tokens; `dormouse config set context.window N` sets it"
            );
            detail(&text, out)?;
        }
        if let Some(quirk) = model.quirk {
            let provider = model.provider.as_deref().unwrap_or("it");
            detail(&format!("{provider} {quirk}"), out)?;
        }
    }
    match &model.small {
        Some(small) => labelled("", Role::Plain, &format!("small questions: {small}"), out)?,
        None => detail("small_model is not set: recall asks the model itself", out)?,
    }
    match &model.fallback {
        Some(fallback) => labelled("", Role::Plain, &format!("fallback: {fallback}"), out)?,
        None => detail(
            "fallback_model is not set: an overloaded model ends a turn",
            out,
        )?,
    }
    for key in &it.keys {
        labelled(
            "Key",
            Role::Plain,
            &format!("{} from {}", key.setting, key.from),
            out,
        )?;
    }
    Ok(())
}

fn sandbox(it: &Diagnosis, out: &mut Out) -> Outcome {
    match (it.sandbox.strength, &it.sandbox.why) {
        ("full", _) => good("Sandbox", "Landlock and a filter of system calls", out),
        ("partial", why) => {
            let why = why.as_deref().unwrap_or_default();
            labelled("Sandbox", Role::Warning, &format!("partial: {why}"), out)
        }
        (_, why) => {
            let why = why.as_deref().unwrap_or_default();
            labelled("Sandbox", Role::Warning, &format!("none: {why}"), out)?;
            detail(
                "with one, commands run without a question in --mode sandbox",
                out,
            )
        }
    }
}

fn programs(it: &Diagnosis, out: &mut Out) -> Outcome {
    let found = it
        .programs
        .iter()
        .filter_map(|program| program.path.as_deref());
    let found: Vec<&str> = found.collect();
    labelled("Programs", Role::Plain, &found.join(", "), out)?;
    for program in it.programs.iter().filter(|program| program.path.is_none()) {
        let gives = match program.name {
            "git" => "git is missing: sessions are not told the state of the repository",
            "bash" | "sh" => "a shell is missing: the tool Bash cannot run commands",
            // Searching is built in; models like to call it by name.
            _ => continue,
        };
        detail(gives, out)?;
    }
    Ok(())
}

fn home(it: &Diagnosis, out: &mut Out) -> Outcome {
    match &it.home.unwritable {
        Some(why) => {
            labelled(
                "Home",
                Role::Error,
                &format!("cannot be written: {why}"),
                out,
            )?;
            detail(
                "sessions and memories are kept there; `--home DIR` takes another",
                out,
            )?;
        }
        None if it.home.exists => good("Home", &it.home.path, out)?,
        None => good(
            "Home",
            &format!("{}, made by the first session", it.home.path),
            out,
        )?,
    }
    let memory = &it.memory;
    if let Some(off) = &memory.off {
        labelled("Memory", Role::Warning, off, out)?;
    } else if let Some(why) = &memory.unreadable {
        labelled("Memory", Role::Error, why, out)?;
    } else {
        let memories = figures::count(memory.memories, "memory", "memories");
        if memory.problems == 0 {
            good("Memory", &memories, out)?;
        } else {
            let problems = figures::count(memory.problems, "problem", "problems");
            labelled(
                "Memory",
                Role::Warning,
                &format!("{memories}, {problems}"),
                out,
            )?;
            detail("`dormouse memory check` lists them", out)?;
        }
    }
    Ok(())
}

fn settings(it: &Diagnosis, out: &mut Out) -> Outcome {
    for file in &it.settings {
        if file.usable {
            good("Settings", &format!("{} ({})", file.path, file.name), out)?;
        } else {
            labelled(
                "Settings",
                Role::Error,
                &format!("{} cannot be used", file.path),
                out,
            )?;
        }
    }
    for issue in &it.issues {
        labelled("Settings", Role::Warning, issue, out)?;
    }
    if it.trust.trusted {
        return good("Trust", &format!("{} is trusted", it.trust.folder), out);
    }
    labelled(
        "Trust",
        Role::Dim,
        &format!("{} is not trusted", it.trust.folder),
        out,
    )?;
    if it.trust.ignored.is_empty() {
        return detail(
            "trust would give its settings, hooks and team memory effect",
            out,
        );
    }
    let ignored = it.trust.ignored.join(", ");
    detail(
        &format!("without effect: {ignored}; `dormouse config trust` changes that"),
        out,
    )
}

fn good(label: &str, text: &str, out: &mut Out) -> Outcome {
    labelled(label, Role::Good, &format!("ok  {text}"), out)
}

fn detail(text: &str, out: &mut Out) -> Outcome {
    labelled("", Role::Dim, text, out)
}

/// Prints a label and a text that hangs behind it.
fn labelled(label: &str, role: Role, text: &str, out: &mut Out) -> Outcome {
    let room = out.width().saturating_sub(LABEL);
    let mut lines = wrapped(text, room).into_iter();
    let first = lines.next().unwrap_or_default();
    let head = Line::new().role(Role::Strong, format!("{label:<LABEL$}"));
    out.line(head.role(role, first))?;
    for line in lines {
        out.line(Line::new().text(" ".repeat(LABEL)).role(role, line))?;
    }
    Ok(())
}
