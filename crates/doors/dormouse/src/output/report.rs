//! The result of a command: JSON for programs, text for people.

use super::out::{Format, Out, OutResult};
use crate::error::Outcome;
use serde::Serialize;

/// A result. Programs get it as it serialises, people as [`Report::text`] words it.
pub trait Report: Serialize {
    /// Prints it for people.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn text(&self, out: &mut Out) -> Outcome;

    /// The end of the command after it was printed: an error where the result is one.
    ///
    /// # Errors
    /// When the result says that something is wrong.
    fn verdict(&self) -> Outcome {
        Ok(())
    }
}

impl Out {
    /// Prints a result. The only place that asks who reads it.
    ///
    /// # Errors
    /// When the output cannot be written, or the result says that something is wrong.
    pub fn tell(&mut self, report: &impl Report) -> Outcome {
        match self.format() {
            Format::Json => self.json(report)?,
            Format::Text => report.text(self)?,
        }
        report.verdict()
    }

    /// Prints one of many results at once: a line of JSON, or its text.
    ///
    /// # Errors
    /// When the output cannot be written, or the result says that something is wrong.
    pub fn tell_one(&mut self, report: &impl Report) -> Outcome {
        match self.format() {
            Format::Json => self.json_line(report)?,
            Format::Text => {
                report.text(self)?;
                self.flush()?;
            }
        }
        report.verdict()
    }

    /// Prints a heading between results, for people only.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn heading(&mut self, print: impl FnOnce(&mut Self) -> OutResult) -> OutResult {
        match self.format() {
            Format::Json => Ok(()),
            Format::Text => print(self),
        }
    }
}
