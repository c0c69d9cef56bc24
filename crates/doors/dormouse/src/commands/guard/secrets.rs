//! `dormouse guard secrets`: keys and passwords in files, by line and rule.

use super::{LONGEST_INPUT, input};
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role};
use dormouse_guard::secrets::scan;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Prints `file:line: rule` for each, never the secret itself.

Examples:
  dormouse guard secrets notes.md .env
  git diff --cached | dormouse guard secrets -

Exit codes: 0 if there is none, 5 if there is one.

JSON:
  {\"files\", \"findings\": [{\"file\", \"line\", \"rule\"}], \"skipped\": [FILE]}";

/// Bytes in which a NUL marks a file as binary: 8 KiB, about the part that git looks at.
const SNIFFED: usize = 8 * 1024;
/// Name of the standard input among the files, by convention.
const STDIN: &str = "-";

/// Arguments of `guard secrets`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files; `-` is the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Default, Serialize)]
struct Scanned {
    files: usize,
    findings: Vec<Found>,
    skipped: Vec<String>,
}

#[derive(Serialize)]
struct Found {
    file: String,
    line: usize,
    rule: &'static str,
}

/// Scans the files and prints `file:line: rule` for each finding, never the secret.
pub(super) fn run(args: &Args, app: &mut App) -> Outcome {
    let mut report = Scanned::default();
    for path in &args.files {
        let name = path.display().to_string();
        let bytes = read(path, app)?;
        let head = &bytes[..bytes.len().min(SNIFFED)];
        if head.contains(&0) {
            app.note(&format!("`{name}` holds binary data and was left out"));
            report.skipped.push(name);
            continue;
        }
        report.files += 1;
        // Lossy: a secret in a file with one wrong byte is a secret nevertheless.
        for finding in scan(&String::from_utf8_lossy(&bytes)) {
            report.findings.push(Found {
                file: name.clone(),
                line: finding.line,
                rule: finding.rule,
            });
        }
    }
    app.tell(&report)
}

impl Report for Scanned {
    fn text(&self, out: &mut Out) -> Outcome {
        for found in &self.findings {
            let place = format!("{}:{}: ", found.file, found.line);
            out.line(Line::new().text(place).role(Role::Error, found.rule))?;
        }
        Ok(())
    }

    fn verdict(&self) -> Outcome {
        match self.findings.len() {
            0 => Ok(()),
            count => Err(found_some(count)),
        }
    }
}

fn read(path: &Path, app: &App) -> Result<Vec<u8>, Failure> {
    if path == Path::new(STDIN) {
        return input();
    }
    Ok(app.system.files.read(path, LONGEST_INPUT)?.to_vec())
}

fn found_some(count: usize) -> Failure {
    let what = if count == 1 {
        "1 secret found".to_owned()
    } else {
        format!("{count} secrets found")
    };
    UserError::new(Exit::Refused, what)
        .hint("take each out and make it invalid where it was issued: it has been written down")
        .into()
}
