//! From the process to a command and back: arguments, output, panics, exit code.

use crate::cli::{Cli, Early};
use crate::commands;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Format, Line, Out, Role, Terminal};
use clap::{CommandFactory as _, FromArgMatches as _};
use dormouse_config::{Loaded, Loader, MANAGED_FILE};
use dormouse_system::System;
use serde_json::json;
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::path::Path;
use std::process::ExitCode;

/// What every command gets.
#[derive(Debug)]
pub struct App {
    /// The machine.
    pub system: System,
    /// Where to print.
    pub out: Out,
    /// Settings given on the command line, as `key=value`.
    settings: Vec<String>,
}

/// The settings in force, and where they come from.
#[derive(Debug)]
pub struct Config {
    /// What loads them, and knows the places.
    pub loader: Loader,
    /// The settings, the model table, trust and issues.
    pub loaded: Loaded,
}

impl App {
    /// The settings in force. That something could not be used is said beside the result.
    pub fn config(&mut self) -> Result<Config, Failure> {
        let config = self.config_without_aside()?;
        let count = config.loaded.issues.len();
        if count > 0 {
            let what = if count == 1 {
                "1 problem".to_owned()
            } else {
                format!("{count} problems")
            };
            self.note(&format!(
                "{what} with the settings; see `dormouse config show`"
            ));
        }
        Ok(config)
    }

    /// The settings in force, for a command that shows what is wrong with them itself.
    pub fn config_without_aside(&self) -> Result<Config, Failure> {
        let loader = Loader::new(&self.system, MANAGED_FILE, self.settings.clone())?;
        let loaded = loader.load();
        Ok(Config { loader, loaded })
    }

    /// Says something beside the result, on stderr: a line, or with `--json` an object `{"note"}`.
    pub fn note(&mut self, text: &str) {
        match self.out.format() {
            Format::Text => self.out.aside(
                Line::new()
                    .role(Role::Warning, "note")
                    .text(": ")
                    .text(text),
            ),
            Format::Json => self.out.raw_aside(&format!("{}\n", json!({"note": text}))),
        }
    }
}

/// The whole program.
pub fn main() -> ExitCode {
    let system = System::real();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let early = Early::of(&arguments);
    let terminal = Terminal::of_process(&*system.env, early.color);
    panic::set_hook(Box::new(move |info| {
        report_panic(info, terminal, early.format);
    }));
    let out = Out::of_process(terminal, early.format);
    // The hook has told the user already.
    let exit = panic::catch_unwind(AssertUnwindSafe(|| run(system, out, arguments)));
    exit.unwrap_or(Exit::Unexpected).into()
}

fn run(system: System, mut out: Out, arguments: Vec<OsString>) -> Exit {
    let command = Cli::command().term_width(out.width());
    let parsed = command
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            return show_parser(&error, &mut out)
                .unwrap_or_else(|failure| failure.report(&mut out));
        }
    };
    let mut app = App {
        system,
        out,
        settings: cli.globals.settings(),
    };
    if let Err(why) = crate::trace::start(&app.system) {
        app.note(&why);
    }
    let outcome: Outcome = commands::run(&cli, &mut app).and_then(|()| Ok(app.out.flush()?));
    match outcome {
        Ok(()) => Exit::Ok,
        Err(failure) => {
            // What was printed before the failure should stand above it.
            drop(app.out.flush());
            failure.report(&mut app.out)
        }
    }
}

/// Help and the version come as errors of the parser, too.
fn show_parser(error: &clap::Error, out: &mut Out) -> Result<Exit, Failure> {
    let text = error.render();
    if !error.use_stderr() {
        let text = if out.has_color() {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        out.raw(&text)?;
        out.flush()?;
        return Ok(Exit::Ok);
    }
    match out.format() {
        Format::Text if out.has_color_for_errors() => out.raw_aside(&text.ansi().to_string()),
        Format::Text => out.raw_aside(&text.to_string()),
        Format::Json => {
            let text = text.to_string();
            let first = text.split("\n\n").next().unwrap_or(&text);
            let message = first.trim_start_matches("error: ").trim();
            UserError::new(Exit::Usage, message)
                .hint("`dormouse --help` shows how commands are written")
                .report(out);
        }
    }
    Ok(Exit::Usage)
}

/// Says that the program itself failed, in place of the standard library's message.
fn report_panic(info: &PanicHookInfo<'_>, terminal: Terminal, format: Format) {
    let payload = info.payload_as_str().unwrap_or("no reason given");
    let place = info.location().map(|at| (at.file(), at.line()));
    let mut out = Out::new(
        Box::new(std::io::sink()),
        Box::new(std::io::stderr()),
        terminal,
        format,
    );
    panic_error(payload, place).report(&mut out);
}

fn panic_error(payload: &str, place: Option<(&str, u32)>) -> UserError {
    let mut error = UserError::new(Exit::Unexpected, "Dormouse itself failed; this is a bug");
    error.causes.push(payload.to_owned());
    // An absolute path is one of the machine that built the program and helps nobody.
    if let Some((file, line)) = place
        && !Path::new(file).is_absolute()
    {
        error.causes.push(format!("at {file}:{line}"));
    }
    error.hint("please report it with the command you ran; your files are as they were last saved")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_reads_like_any_other_error() {
        let error = panic_error("index out of bounds", Some(("crates/x/src/y.rs", 7)));
        assert_eq!(error.kind, Exit::Unexpected);
        assert_eq!(
            error.causes,
            ["index out of bounds", "at crates/x/src/y.rs:7"]
        );
        let error = panic_error("index out of bounds", Some(("/build/x/src/y.rs", 7)));
        assert_eq!(error.causes, ["index out of bounds"]);
    }
}
