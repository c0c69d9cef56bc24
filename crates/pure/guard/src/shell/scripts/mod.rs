//! Languages inside arguments, each reduced to its reading part.

mod awk;
mod formats;
mod jq;
mod sed;

pub(super) use awk::awk_only_prints;
pub(super) use formats::{
    cluster_output_only_prints, log_format_only_prints, printf_only_prints, ref_format_only_prints,
    setting_holds_no_secret,
};
pub(super) use jq::jq_only_reads;
pub(super) use sed::sed_only_prints;

/// True if every bracket expression of a pattern closes within it, however a version reads it.
/// Versions differ in whether a delimiter inside brackets ends the pattern; with closed brackets
/// they agree.
fn brackets_close(pattern: &str) -> bool {
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => _ = characters.next(),
            '[' => {
                characters.next_if_eq(&'^');
                // A bracket that comes first is a member to some, and the end to others.
                if characters.peek() == Some(&']') {
                    return false;
                }
                loop {
                    match (characters.next(), characters.peek().copied()) {
                        (None, _) | (Some('\\'), Some(']')) => return false,
                        (Some(']'), _) => break,
                        (Some('['), Some(kind @ (':' | '.' | '='))) => {
                            characters.next();
                            // To the end of the class, such as `:]`.
                            while let Some(inner) = characters.next() {
                                if inner == kind && characters.next_if_eq(&']').is_some() {
                                    break;
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    true
}
