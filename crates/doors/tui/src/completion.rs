//! The list below the composer: commands behind a slash, files behind an at sign.

use crate::line::{Line, Role};
use crate::text::{clean, clip_line};

/// Rows of the list below the composer.
const MOST_SHOWN: usize = 6;

/// List of commands or files that begin as the composer does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Completion {
    /// Names, with a purpose each.
    found: Vec<(String, String)>,
    at: usize,
    /// Begun name of a file, if files are listed.
    begun: Option<String>,
}

impl Completion {
    pub(crate) const fn is_open(&self) -> bool {
        !self.found.is_empty()
    }

    /// Closes the list; false if it was not open.
    pub(crate) fn close(&mut self) -> bool {
        let open = self.is_open();
        *self = Self::default();
        open
    }

    /// Lists commands; the chosen one stays where it is as long as their number does.
    pub(crate) fn show_commands(&mut self, found: Vec<(String, String)>) {
        let stays = self.begun.is_none() && found.len() == self.found.len();
        *self = Self {
            at: if stays { self.at } else { 0 },
            found,
            begun: None,
        };
    }

    /// Lists files for a begun name.
    pub(crate) fn show_files(&mut self, begun: &str, found: Vec<String>) {
        *self = Self {
            found: found
                .into_iter()
                .map(|path| (path, String::new()))
                .collect(),
            at: 0,
            begun: Some(begun.to_owned()),
        };
    }

    /// True if the files for a begun name are listed.
    pub(crate) fn is_about(&self, begun: &str) -> bool {
        self.begun.as_deref() == Some(begun)
    }

    fn chosen(&self) -> Option<&str> {
        self.found.get(self.at).map(|(name, _)| name.as_str())
    }

    pub(crate) fn chosen_command(&self) -> Option<&str> {
        self.chosen().filter(|_| self.begun.is_none())
    }

    pub(crate) fn chosen_file(&self) -> Option<&str> {
        self.chosen().filter(|_| self.begun.is_some())
    }

    pub(crate) fn go(&mut self, down: bool) {
        let count = self.found.len().max(1);
        self.at = if down {
            (self.at + 1) % count
        } else {
            (self.at + count - 1) % count
        };
    }

    /// Rows of the list at a width.
    pub(crate) fn rows(&self, columns: usize) -> Vec<Line> {
        let first = (self.at + 1).saturating_sub(MOST_SHOWN);
        let shown = self.found.iter().enumerate().skip(first).take(MOST_SHOWN);
        let row = |(at, (name, about)): (usize, &(String, String))| {
            let (sign, role) = if at == self.at {
                ("› ", Role::Chosen)
            } else {
                ("  ", Role::Plain)
            };
            let name = if self.begun.is_some() {
                format!("{sign}@{}", clean(name))
            } else {
                format!("{sign}/{name:<12}")
            };
            let line = Line::of(name, role).with(format!(" {about}"), Role::Dim);
            clip_line(line, columns)
        };
        shown.map(row).collect()
    }
}
