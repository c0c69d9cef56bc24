//! Sequences that a screen with scrollback must not send.

use std::collections::BTreeMap;

/// Breaches in a stream of bytes, each in words. `ended` says that the program is over, so that no
/// mode may be left set.
pub fn lint(bytes: &[u8], ended: bool) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut breaches = Vec::new();
    let mut modes: BTreeMap<String, bool> = BTreeMap::new();
    let mut keyboard = 0_i32;
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\u{1b}') {
        rest = &rest[at + 1..];
        let Some(sequence) = rest.strip_prefix('[') else {
            // Index, reverse index, next line, reset: they scroll or wipe.
            if rest.starts_with(['D', 'M', 'E', 'c']) {
                breaches.push(format!("ESC {}", &rest[..1]));
            }
            continue;
        };
        let Some(end) = sequence.find(|last: char| ('@'..='~').contains(&last)) else {
            break;
        };
        let (parameters, last) = (&sequence[..end], &sequence[end..=end]);
        rest = &sequence[end + 1..];
        // The alternate screen has no scrollback: everything there goes with it.
        let over = modes.get("?1049").copied().unwrap_or_default();
        match (last, parameters) {
            ("H" | "J", _) if over => {}
            ("S" | "T" | "L" | "M" | "r", _) => {
                breaches.push(format!("scrolls a region: CSI {parameters}{last}"));
            }
            ("J", "2" | "3") => breaches.push(format!("wipes the screen: CSI {parameters}J")),
            ("H" | "f", _) => {
                breaches.push(format!("an absolute position: CSI {parameters}{last}"));
            }
            ("h" | "l", mode) if mode.starts_with('?') => {
                modes.insert(mode.to_owned(), last == "h");
            }
            ("u", flags) if flags.starts_with('>') => keyboard += 1,
            ("u", flags) if flags.starts_with('<') => keyboard -= 1,
            _ => {}
        }
    }
    for mouse in ["?1000", "?1002", "?1003", "?1006"] {
        if modes.contains_key(mouse) {
            breaches.push(format!("captures the mouse: {mouse}"));
        }
    }
    if ended {
        // A visible cursor is the mode that a shell expects.
        let left = modes
            .iter()
            .filter(|(mode, set)| **set != (mode.as_str() == "?25"));
        breaches.extend(left.map(|(mode, set)| format!("mode {mode} is left {set}")));
        if keyboard != 0 {
            breaches.push(format!("{keyboard} keyboard modes are left"));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::lint;

    #[test]
    fn breaches_are_found() {
        assert_eq!(
            lint(b"a\x1b[31mb\x1b[K\x1b[J\r\n\x1b[3A\x1b[?25l\x1b[?25h", true),
            [""; 0]
        );
        for bad in [
            "\x1b[2S",
            "\x1b[T",
            "\x1b[L",
            "\x1b[1;5r",
            "\x1b[2J",
            "\x1b[3J",
            "\x1bM",
            "\x1b[H",
            "\x1b[?1000h\x1b[?1000l",
        ] {
            assert_eq!(lint(bad.as_bytes(), true).len(), 1, "{bad:?}");
        }
        // On the alternate screen nothing can be lost; it must be left.
        assert_eq!(lint(b"\x1b[?1049h\x1b[H\x1b[2J\x1b[?1049l", true), [""; 0]);
        assert_eq!(lint(b"\x1b[?1049h\x1b[H", true).len(), 1);
        assert_eq!(lint(b"\x1b[?1049h\x1b[?1049l\x1b[H", true).len(), 1);
        for left in ["\x1b[?2004h", "\x1b[?25l", "\x1b[>1u"] {
            assert_eq!(lint(left.as_bytes(), true).len(), 1, "{left:?}");
            assert_eq!(lint(left.as_bytes(), false).len(), 0, "{left:?}");
        }
    }
}
