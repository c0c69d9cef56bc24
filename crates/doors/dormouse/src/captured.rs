//! Command lines whose output becomes text, for a screen that shows it.

use crate::app::App;
use crate::cli::Cli;
use crate::commands;
use crate::help;
use crate::output::{Format, Out, Terminal};
use clap::{CommandFactory as _, FromArgMatches as _};
use dormouse_system::System;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Commands that can be typed on the screen: they print and end, and leave the terminal alone.
const COMMANDS: [&str; 18] = [
    "config", "context", "doctor", "dream", "eval", "export", "extract", "gc", "log", "memory",
    "recall", "replay", "rewind", "search", "sessions", "stats", "usage", "view",
];

/// Runner of command lines on the machine and with the settings of this process.
#[derive(Clone, Debug)]
pub struct Captured {
    pub(crate) system: System,
    pub(crate) settings: Vec<String>,
}

impl Captured {
    /// Commands that can be run, with their purposes.
    pub fn commands() -> Vec<(String, String)> {
        let all = Cli::command();
        let listed = all
            .get_subcommands()
            .filter(|command| COMMANDS.contains(&command.get_name()));
        let listed = listed.map(|command| {
            let about = command.get_about().map(ToString::to_string);
            (command.get_name().to_owned(), about.unwrap_or_default())
        });
        listed.collect()
    }

    /// Runs a command line at a width: the text of both outputs, and whether it failed. Blocks.
    pub fn run(&self, words: &[String], columns: usize) -> (String, bool) {
        if words
            .first()
            .is_none_or(|name| !COMMANDS.contains(&name.as_str()))
        {
            return ("this command runs in a shell only".to_owned(), true);
        }
        // The keyboard belongs to the screen: a command that reads it would never end.
        if words.iter().any(|word| word == "-")
            || words.starts_with(&["memory".into(), "tool".into()])
        {
            return (
                "what it reads cannot be typed here; run it in a shell".to_owned(),
                true,
            );
        }
        let command = help::fitted(Cli::command(), columns);
        let line = std::iter::once("dormouse").chain(words.iter().map(String::as_str));
        let parsed = command
            .try_get_matches_from(line)
            .and_then(|matches| Cli::from_arg_matches(&matches));
        let cli = match parsed {
            Ok(cli) => cli,
            Err(error) => return (error.render().to_string(), error.use_stderr()),
        };
        let text = Text::default();
        let terminal = Terminal {
            color: false,
            color_errors: false,
            // Bytes of files are made harmless for a screen.
            screen: true,
            watched: false,
            columns: Some(columns),
        };
        let out = Out::new(
            Box::new(text.clone()),
            Box::new(text.clone()),
            terminal,
            Format::Text,
        );
        let out = out.at(self.system.clock.now());
        let mut settings = self.settings.clone();
        settings.extend(cli.globals.settings());
        let mut app = App::on(self.system.clone(), out, settings);
        let outcome = commands::run(&cli, &mut app).and_then(|()| Ok(app.out.flush()?));
        app.remarks();
        let failed = match outcome {
            Ok(()) => false,
            Err(failure) => {
                failure.report(&mut app.out);
                true
            }
        };
        (text.take(), failed)
    }
}

/// Text that both outputs write.
#[derive(Clone, Debug, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Text {
    fn take(&self) -> String {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&std::mem::take(&mut *bytes)).into_owned()
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_list_exists() {
        let names: Vec<String> = Captured::commands()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names.len(), COMMANDS.len(), "{names:?}");
    }

    #[test]
    fn a_wrong_line_is_told_and_others_are_refused() {
        let captured = Captured {
            system: System::real(),
            settings: Vec::new(),
        };
        let run =
            |line: &str| captured.run(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), 60);
        let (text, failed) = run("context --nonsense");
        assert!(failed && text.contains("--nonsense"), "{text}");
        let (text, failed) = run("memory add -");
        assert!(failed && text.contains("in a shell"), "{text}");
        let (text, failed) = run("acp");
        assert!(failed && text.contains("shell only"), "{text}");
    }
}
