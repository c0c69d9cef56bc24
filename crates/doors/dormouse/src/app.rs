//! From the process to a command and back: arguments, output, panics, exit code.

use crate::captured::Captured;
use crate::cli::{Cli, Early};
use crate::commands;
use crate::commands::hook::{self, HookCommand, HookLine};
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::help;
use crate::output::{Format, Out, Report, Terminal, printable_lines};
use crate::remark::words;
use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};
use dormouse_config::Update;
use dormouse_core::models::ModelTable;
use dormouse_core::show;
use dormouse_host::{ChosenBy, Host, Remark, SessionChosen, Transcripts};
use dormouse_system::{Environment, EnvironmentError, System};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// The surroundings of every command: machine, output, and the host once it is needed.
#[derive(Debug)]
pub struct App {
    /// The machine: files, clock, environment, processes. Commands touch the outside only through
    /// it.
    pub system: System,
    /// The one way to stdout and stderr.
    pub out: Out,
    /// Settings given on the command line, as `key=value`; the strongest layer.
    settings: Vec<String>,
    /// True if `--` stands on the command line: what follows it is text, whatever it looks like.
    escaped: bool,
    /// True if the settings of the command line are for a program that this one sets up.
    passed_on: bool,
    /// The host, opened by the first command that asks for it: `completions` and `sim` need no
    /// home.
    host: Option<Arc<Host>>,
    /// Changes of the settings, for a command that lives on; the watcher ends with it.
    updates: Option<Receiver<Update>>,
}

impl App {
    /// Surroundings with these settings, before the host is opened.
    pub(crate) const fn on(system: System, out: Out, settings: Vec<String>) -> Self {
        Self {
            system,
            out,
            settings,
            escaped: false,
            passed_on: false,
            host: None,
            updates: None,
        }
    }

    /// The host, opened once and shared by all calls.
    ///
    /// # Errors
    /// When a setting on the command line is wrong, or nothing says where the home is.
    pub fn host(&mut self) -> Result<Arc<Host>, Failure> {
        if let Some(host) = &self.host {
            return Ok(Arc::clone(host));
        }
        let host = Arc::new(Host::open(&self.system, self.settings.clone())?);
        self.host = Some(Arc::clone(&host));
        Ok(host)
    }

    /// The host for a command that lives on: it follows changes of the settings files. Has to come
    /// before the first call of [`App::host`].
    ///
    /// # Errors
    /// As [`App::host`].
    pub fn living_host(&mut self) -> Result<Arc<Host>, Failure> {
        let mut host = Host::open(&self.system, self.settings.clone())?;
        match host.watch() {
            Ok(updates) => self.updates = Some(updates),
            // The settings then stay as they were loaded.
            Err(error) => self.note(&format!("changes of settings are not seen: {error}")),
        }
        let host = Arc::new(host);
        self.host = Some(Arc::clone(&host));
        Ok(host)
    }

    /// A host for another folder than that of the process, for clients that name their own.
    ///
    /// # Errors
    /// As [`App::host`].
    pub fn host_in(&self, folder: &Path) -> Result<Arc<Host>, Failure> {
        let system = elsewhere(&self.system, folder);
        Ok(Arc::new(Host::open(&system, self.settings.clone())?))
    }

    /// True if a person sits before a terminal that shows text.
    pub fn has_screen(&self) -> bool {
        self.out.format() == Format::Text
            && std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
    }

    /// True if a program reads the output.
    pub fn is_for_programs(&self) -> bool {
        self.out.format() == Format::Json
    }

    /// A runner of command lines with the settings of this one, whose output becomes text.
    pub fn captured(&self) -> Captured {
        Captured {
            system: self.system.clone(),
            settings: self.settings.clone(),
        }
    }

    /// A function that opens the host, for a server that answers before it needs one; in another
    /// folder than that of the process if one is named. A failure is told as one line.
    pub fn host_opener(
        &self,
        folder: Option<PathBuf>,
    ) -> impl Fn() -> Result<Arc<Host>, String> + Send + Sync + use<> {
        let (system, settings) = (self.system.clone(), self.settings.clone());
        let system = match folder {
            Some(folder) => elsewhere(&system, &folder),
            None => system,
        };
        move || {
            let host = Host::open(&system, settings.clone());
            host.map(Arc::new).map_err(|error| show::chain(&error))
        }
    }

    /// Models and prices, once the host is open.
    pub fn models(&self) -> Option<Arc<ModelTable>> {
        self.host.as_ref().map(|host| host.models())
    }

    /// The transcript of the session that a person means, and a note on which one it is where the
    /// name was not its path.
    ///
    /// # Errors
    /// When no session has the name, or several have.
    pub fn session(&mut self, name: Option<&Path>) -> Result<PathBuf, Failure> {
        // A file needs no home to be found.
        if let Some(chosen) = name.and_then(|name| SessionChosen::file(&self.system, name)) {
            return Ok(chosen.file);
        }
        let SessionChosen { file, by } = self.host()?.choose(name)?;
        let shown = file.display();
        match by {
            Some(ChosenBy::Here) => self.note(&format!("the newest session here: {shown}")),
            Some(ChosenBy::Latest) => self.note(&format!("the newest session: {shown}")),
            Some(ChosenBy::Id) => self.note(&format!("session {shown}")),
            None => {}
        }
        Ok(file)
    }

    /// Sets a setting as `key=value` for this command, above those of the command line. Has to come
    /// before the first call of [`App::host`], which reads them.
    pub fn set(&mut self, setting: Option<String>) {
        debug_assert!(self.host.is_none(), "the host has read its settings");
        self.settings.extend(setting);
    }

    /// Settings of the command line, for a process that is started with the same.
    pub fn given_settings(&self) -> &[String] {
        &self.settings
    }

    /// Settings of the command line, for a program that this one sets up: there they have their
    /// effect.
    pub fn pass_settings_on(&mut self) -> Vec<String> {
        self.passed_on = true;
        self.settings.clone()
    }

    /// Notes settings of the command line that nothing in this command has read: a person who sets
    /// one expects a difference.
    fn note_unread(&mut self, given: &[String]) {
        if self.passed_on {
            return;
        }
        let settings = self.host.as_ref().map(|host| host.settings());
        for given in given {
            let key = given.split('=').next().unwrap_or(given).trim();
            // The home is found before there are settings.
            let read = key == "home"
                || settings
                    .as_ref()
                    .is_some_and(|settings| settings.was_read(key));
            if !read {
                self.note(&format!("`--set {key}` has no effect on this command"));
            }
        }
    }

    /// Transcripts, without the settings: reading one needs no home.
    pub fn transcripts(&self) -> Transcripts {
        let models = Arc::new(ModelTable::builtin().clone());
        Transcripts::new(&self.system, models)
    }

    /// Text of the user's from one argument or from many words. It may begin with a hyphen, as a
    /// line of a list does.
    ///
    /// # Errors
    /// When it is a single word that looks like an option: a misspelt one must not become a memory.
    pub fn free_text(&self, first: &str, more: &[String]) -> Result<String, Failure> {
        let is_word = first.len() > 1 && !first.contains(char::is_whitespace);
        if first.starts_with('-') && is_word && !self.escaped {
            let error = UserError::new(Exit::Usage, format!("there is no option `{first}` here"));
            return Err(error
                .hint(format!(
                    "for a text that begins so, put `--` before it: -- '{first} …'"
                ))
                .into());
        }
        let words: Vec<&str> = std::iter::once(first)
            .chain(more.iter().map(String::as_str))
            .collect();
        Ok(words.join(" "))
    }

    /// Prints a result, and beside it what the host has to remark.
    ///
    /// # Errors
    /// When the output cannot be written, or the result says that something is wrong.
    pub fn tell(&mut self, report: &impl Report) -> Outcome {
        self.remarks();
        self.out.tell(report)
    }

    /// Says what the host has to remark, on stderr.
    pub fn remarks(&mut self) {
        let remarks = self.host.as_ref().map(|host| host.take_remarks());
        self.note_all(&remarks.unwrap_or_default());
    }

    /// Says remarks on stderr.
    pub fn note_all(&mut self, remarks: &[Remark]) {
        for remark in remarks {
            self.note(&words(remark));
        }
    }

    /// Says something beside the result, on stderr: a line, or with `--json` an object `{"note"}`.
    pub fn note(&mut self, text: &str) {
        self.out.note(text);
    }
}

/// The machine with another working directory.
fn elsewhere(system: &System, folder: &Path) -> System {
    let env = Elsewhere {
        env: Arc::clone(&system.env),
        folder: folder.to_owned(),
    };
    System {
        env: Arc::new(env),
        ..system.clone()
    }
}

/// The environment of the process, but for its folder.
#[derive(Debug)]
struct Elsewhere {
    env: Arc<dyn Environment>,
    folder: PathBuf,
}

impl Environment for Elsewhere {
    fn var(&self, name: &str) -> Option<OsString> {
        self.env.var(name)
    }

    fn home_dir(&self) -> Option<PathBuf> {
        self.env.home_dir()
    }

    fn current_dir(&self) -> Result<PathBuf, EnvironmentError> {
        Ok(self.folder.clone())
    }
}

/// The whole program: arguments, output, panic hook, exit code.
pub fn main() -> ExitCode {
    let system = System::real();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Read before clap parses: an error about the command line has to know colour and format, too.
    let early = Early::of(&arguments);
    let terminal = Terminal::of_process(&*system.env, early.color);
    // Set before anything else runs, so that no panic is reported in two ways.
    panic::set_hook(Box::new(move |info| {
        report_panic(info, terminal, early.format);
    }));
    if hook::is_hook(&arguments) {
        return attend(system, terminal, early.format, arguments);
    }
    let out = Out::of_process(terminal, early.format).at(system.clock.now());
    // The hook has told the user already.
    let exit = panic::catch_unwind(AssertUnwindSafe(|| run(system, out, arguments)));
    exit.unwrap_or(Exit::Unexpected).into()
}

/// The program as a hook of another agent: whatever happens, errors are not shown and the exit code is
/// 0, because others stop the agent.
fn attend(
    system: System,
    terminal: Terminal,
    format: Format,
    arguments: Vec<OsString>,
) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    let stdout = Box::new(std::io::BufWriter::new(std::io::stdout()));
    let out = Out::new(stdout, Box::new(std::io::sink()), terminal, format);
    let out = out.at(system.clock.now());
    let _ended = panic::catch_unwind(AssertUnwindSafe(|| {
        match HookLine::try_parse_from(&arguments) {
            Ok(line) => answer(system, out, &line),
            // Help, or arguments that are not understood: the parser of all commands knows.
            Err(_) => drop(run(system, out, arguments)),
        }
    }));
    ExitCode::SUCCESS
}

/// Answers a hook. Remarks have no reader.
fn answer(system: System, out: Out, line: &HookLine) {
    let mut app = App::on(system, out, line.globals.settings());
    drop(crate::trace::start(&app.system));
    let HookCommand::Hook(args) = &line.command;
    if hook::run(args, &mut app).is_ok() {
        drop(app.out.flush());
    }
}

fn run(system: System, mut out: Out, arguments: Vec<OsString>) -> Exit {
    // Help is wrapped like every other output: as wide as the screen, at most 100 columns.
    let command = help::fitted(Cli::command(), out.width());
    let escaped = arguments.iter().any(|argument| argument == "--");
    let (arguments, left_out) = commands::print::known_only(&command, arguments);
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
    // The parsed `--json` and `--color` are not passed on: `early` has read them for the output.
    let mut app = App {
        escaped,
        ..App::on(system, out, cli.globals.settings())
    };
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        app.note(&format!(
            "options that are not known here are left out: {names}"
        ));
    }
    if let Err(why) = crate::trace::start(&app.system) {
        // Without its trace the program still does its work; the user is told and goes on.
        app.note(&why);
    }
    let outcome: Outcome = commands::run(&cli, &mut app).and_then(|()| Ok(app.out.flush()?));
    if outcome.is_ok() {
        app.note_unread(&cli.globals.set);
    }
    // Told after a failure as well: the command may have ended before it told them.
    app.remarks();
    match outcome {
        Ok(()) => Exit::Ok,
        Err(failure) => {
            // Flush first: stderr has no buffer, and the error would stand above the lines before
            // it.
            drop(app.out.flush());
            failure.report(&mut app.out)
        }
    }
}

/// Prints an error of the parser. Help and the version come as such errors, too, and go to stdout.
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
        Format::Text => {
            let plain = text.to_string();
            // The parser repeats the argument it refuses, which may have been pasted from anywhere.
            // Coloured text has escape codes of its own, so that only harmless text is coloured.
            match printable_lines(&plain) {
                Cow::Borrowed(_) if out.has_color_for_errors() => {
                    out.raw_aside(&text.ansi().to_string());
                }
                safe => out.raw_aside(&safe),
            }
        }
        Format::Json => {
            // The rest of the text is usage and a hint for people; programs get the sentence alone.
            let text = text.to_string();
            let first = text.split("\n\n").next().unwrap_or(&text);
            // The JSON object says that it is an error; the parser's own label would be said twice.
            let message = first.trim_start_matches("error: ").trim();
            UserError::new(Exit::Usage, message)
                // The parser's usage line was cut off above; the hint stands for it.
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
    // Stdout is locked by the main thread for its whole life: printing there from another thread
    // that panics would wait for its end.
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
    // A panic's text is written for developers, so it is a cause below a sentence for users.
    error.causes.push(payload.to_owned());
    // An absolute path is one of the machine that built the program; no user has it.
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
