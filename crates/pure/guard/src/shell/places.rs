//! Check of the paths whose contents a command reads.
//!
//! By text alone: symbolic links are followed by the command, which is the sandbox's business.

use super::policy::{Policy, Reach};
use super::reason::Reason;
use super::word::Word;
use std::path::Path;

/// Directories without ordinary files: reading there has effects, never ends, or shows memory.
const NO_FILES: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Checks that the contents at this path may be read.
pub(super) fn check_contents(word: &Word, policy: &Policy) -> Result<(), Reason> {
    let text = word.text.as_str();
    let outside = || Reason::Outside {
        path: text.to_owned(),
    };
    check_device(text)?;
    // A pattern may expand to `..`, which no literal comparison sees.
    let goes_up = |part: &str| part == ".." || word.glob && could_be_parent(part);
    let goes_up = text.split('/').any(goes_up);
    match &policy.reach {
        Reach::Anywhere => Ok(()),
        _ if goes_up || word.home => Err(outside()),
        _ if !text.starts_with('/') => Ok(()),
        Reach::Below(roots) if roots.iter().any(|root| Path::new(text).starts_with(root)) => Ok(()),
        Reach::Below(_) | Reach::Inside => Err(outside()),
    }
}

/// True if a pattern may match `..`, as `.*`, `.?` and `.[!a]` do.
fn could_be_parent(pattern: &str) -> bool {
    let after_dots = pattern.trim_start_matches('.');
    after_dots.len() < pattern.len() && after_dots.starts_with(['*', '?', '['])
}

fn check_device(text: &str) -> Result<(), Reason> {
    let path = Path::new(text);
    let is_device = NO_FILES.iter().any(|root| path.starts_with(root)) && text != "/dev/null";
    // `/tmp/../dev/zero` and `//dev/zero` lead there as well. Matching by substring refuses too
    // much, which is harmless.
    let by_detour = text.starts_with('/')
        && text.split('/').any(|part| part == "..")
        && NO_FILES.iter().any(|root| text.contains(&root[1..]));
    if is_device || by_detour {
        return Err(Reason::Device {
            path: text.to_owned(),
        });
    }
    Ok(())
}
