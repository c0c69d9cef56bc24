//! A key that a command prints, asked for anew when it is old.

use dormouse_core::settings::Secret;
use dormouse_core::show;
use dormouse_model::KeySource;
use dormouse_system::{End, System, Ticks};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Lifetime of a key; Claude Code asks its helper as often.
const LIFETIME: Duration = Duration::from_mins(5);
/// Time of the command: it may ask a vault over the network, or a person's finger.
const PATIENCE: Duration = Duration::from_mins(1);

/// Source of keys that the setting `key_helper` names.
pub(crate) struct KeyHelper {
    system: System,
    line: String,
    directory: PathBuf,
    held: Mutex<Option<(Ticks, Secret)>>,
}

impl fmt::Debug for KeyHelper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHelper").finish_non_exhaustive()
    }
}

impl KeyHelper {
    /// A helper that runs a line of shell.
    pub(crate) fn new(system: &System, line: String) -> Self {
        let directory = system.env.current_dir();
        Self {
            system: system.clone(),
            line,
            directory: directory.unwrap_or_else(|_| PathBuf::from("/")),
            held: Mutex::default(),
        }
    }
}

impl KeySource for KeyHelper {
    fn key(&self) -> Result<Secret, String> {
        // Held while the command runs: two requests at once ask it once.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.system.clock.ticks();
        if let Some((since, key)) = &*held
            && now.since(*since) < LIFETIME
        {
            return Ok(key.clone());
        }
        let ran = self
            .system
            .commands
            .capture(&self.line, &self.directory, PATIENCE);
        let (end, output) = match ran {
            Ok(Some(ran)) => ran,
            Ok(None) => return Err("the command of `key_helper` took too long".to_owned()),
            Err(error) => return Err(show::chain(&error)),
        };
        let printed = String::from_utf8(output).unwrap_or_default();
        let key = printed.trim();
        match end {
            End::Exit(0) if key.is_empty() => {
                Err("the command of `key_helper` printed no key".to_owned())
            }
            // A greeting or a warning before the key would be sent to the provider as the key.
            End::Exit(0) if key.lines().count() > 1 => Err(
                "the command of `key_helper` printed several lines; it has to print the key alone"
                    .to_owned(),
            ),
            End::Exit(0) => {
                let key = Secret::from(key);
                *held = Some((now, key.clone()));
                Ok(key)
            }
            End::Exit(code) => Err(format!(
                "the command of `key_helper` failed with code {code}"
            )),
            _ => Err("the command of `key_helper` was killed".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::MemorySystem;

    #[test]
    fn a_key_is_asked_for_once_in_its_lifetime() {
        let memory = MemorySystem::new();
        let helper = KeyHelper::new(&memory.system(), "vault read key".to_owned());
        assert!(helper.key().is_err(), "an unknown command is no key");
        memory
            .commands
            .answer("vault read key", "sk-one\n", Some(End::Exit(0)));
        assert_eq!(helper.key().unwrap().reveal(), "sk-one");
        memory
            .commands
            .answer("vault read key", "sk-two\n", Some(End::Exit(0)));
        assert_eq!(helper.key().unwrap().reveal(), "sk-one");
        memory.clock.advance(LIFETIME);
        assert_eq!(helper.key().unwrap().reveal(), "sk-two");
        memory.clock.advance(LIFETIME);
        // Failing, killed, silent, talkative, hanging: each is said, and no key is shown.
        for (output, end, said) in [
            ("sk-three", Some(End::Exit(7)), "failed with code 7"),
            ("sk-three", Some(End::Signal(9)), "was killed"),
            (" \n", Some(End::Exit(0)), "printed no key"),
            ("Welcome!\nsk-three\n", Some(End::Exit(0)), "several lines"),
            ("sk-three", None, "took too long"),
        ] {
            memory.commands.answer("vault read key", output, end);
            let why = helper.key().unwrap_err();
            assert!(why.contains(said) && !why.contains("sk-three"), "{why}");
        }
        // None of them is kept: the next request asks again.
        memory
            .commands
            .answer("vault read key", "  sk-four\n\n", Some(End::Exit(0)));
        assert_eq!(helper.key().unwrap().reveal(), "sk-four");
    }
}
