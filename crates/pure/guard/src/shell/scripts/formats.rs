//! Formats and names that are values of options.

/// Formats of `git log` that have a name. Others are names in the configuration, whose format is
/// not visible.
const LOG_FORMATS: [&str; 9] = [
    "oneline",
    "short",
    "medium",
    "full",
    "fuller",
    "reference",
    "email",
    "mboxrd",
    "raw",
];
/// Placeholders in parentheses that only print.
const LOG_PLACEHOLDERS: [&str; 2] = ["trailers", "decorate"];
/// Fields of references that start a program: the one that verifies signatures, or git again.
const REF_FIELDS_THAT_RUN: [&str; 2] = ["signature", "describe"];
/// Sections of git's settings without secrets, and the names they may have there; none for all.
const SETTINGS: &[(&str, &[&str])] = &[
    ("user", &["name", "email"]),
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "editor",
            "eol",
            "filemode",
            "hookspath",
            "ignorecase",
            "pager",
            "quotepath",
            "worktree",
        ],
    ),
    ("init", &["defaultbranch"]),
    ("branch", &["remote", "merge", "rebase"]),
    ("remote", &["url", "fetch", "pushurl"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
    ("merge", &["conflictstyle", "ff", "tool"]),
    ("rebase", &["autosquash", "autostash"]),
    ("commit", &["gpgsign", "template"]),
];

/// True if a `printf` format only prints its arguments: `%n` of some shells sets a variable.
pub(in crate::shell) fn printf_only_prints(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let conversion = after.trim_start_matches(|character: char| {
            character.is_ascii_digit() || matches!(character, '-' | '+' | ' ' | '.' | '#')
        });
        if !conversion.starts_with(['%', 's', 'd', 'i', 'x', 'X', 'o', 'f', 'c', 'q', 'b']) {
            return false;
        }
        rest = &conversion[1..];
    }
    true
}

/// True if a format of `git log` only prints: `%G?` and its like start the program that verifies
/// signatures, which the configuration names.
pub(in crate::shell) fn log_format_only_prints(format: &str) -> bool {
    let is_named = LOG_FORMATS.contains(&format);
    let is_written = format.starts_with("format:")
        || format.starts_with("tformat:")
        || format.contains('%')
        || format.is_empty();
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        if let Some(after) = after.strip_prefix('%') {
            rest = after;
            continue;
        }
        let placeholder = after.trim_start_matches(['+', '-', ' ']);
        let runs = match placeholder.strip_prefix('(') {
            Some(name) => {
                let end = name.find([':', ')']).unwrap_or(name.len());
                !LOG_PLACEHOLDERS.contains(&&name[..end])
            }
            None => placeholder.starts_with('G'),
        };
        if runs {
            return false;
        }
        rest = after;
    }
    is_named || is_written
}

/// True if a format or sorting key of references only prints.
pub(in crate::shell) fn ref_format_only_prints(format: &str) -> bool {
    !REF_FIELDS_THAT_RUN
        .iter()
        .any(|field| format.contains(field))
}

/// True if an output format of `kubectl` reads no file.
pub(in crate::shell) fn cluster_output_only_prints(format: &str) -> bool {
    let format = format.strip_prefix('=').unwrap_or(format);
    matches!(format, "wide" | "yaml" | "json" | "name")
        || ["jsonpath=", "custom-columns=", "go-template="]
            .iter()
            .any(|kind| format.starts_with(kind))
}

/// True if this setting of git holds no secret, as headers and helpers do.
pub(in crate::shell) fn setting_holds_no_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let (Some((section, _)), Some((_, key))) = (lower.split_once('.'), lower.rsplit_once('.'))
    else {
        return false;
    };
    SETTINGS
        .iter()
        .any(|(known, keys)| *known == section && keys.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        assert!(printf_only_prints("%s %5d%% \\n---\\n %-10s"));
        for format in ["%n", "%s%n", "%(%F)T", "%", "%*d"] {
            assert!(!printf_only_prints(format), "{format}");
        }
        for format in [
            "%h %s",
            "format:%C(auto)%h%d",
            "oneline",
            "",
            "%%G %s",
            "%(trailers:key=A)",
            "tformat:x",
        ] {
            assert!(log_format_only_prints(format), "{format}");
        }
        for format in [
            "%G?",
            "%h %GS",
            "%+GG",
            "% GK",
            "%%%G?",
            "mine",
            "%(describe)",
            "%<(9)%G?",
        ] {
            assert!(!log_format_only_prints(format), "{format}");
        }
        assert!(ref_format_only_prints("%(refname:short)"));
        assert!(!ref_format_only_prints("%(*signature:grade)"));
        assert!(cluster_output_only_prints("jsonpath={.a}"));
        assert!(!cluster_output_only_prints("jsonpath-file=/etc/x"));
        assert!(setting_holds_no_secret("remote.origin.url"));
        for name in ["http.extraheader", "url", "edit", "remote.o.proxy", "user."] {
            assert!(!setting_holds_no_secret(name), "{name}");
        }
    }
}
