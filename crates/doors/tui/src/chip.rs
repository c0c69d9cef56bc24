//! Chips of the composer: parts of a prompt that stand in it as one character.
//!
//! A paste that is long, a pasted path while the door looks whether it is an image, and an image. In the
//! prompt that is sent an image is its mark, `[Image #1]`, by which the file is attached.

use crate::composer::{Composer, own};
use crate::text::clean;
use dormouse_core::show::Grouped;

/// First character that stands for a chip: the beginning of a private plane, which no text uses.
const FIRST_CHIP: u32 = 0x0010_0000;
/// Chips of one prompt at most, so that they stay in their plane.
const MOST_CHIPS: usize = 0xfff0;
/// Longest path of the usual systems, in bytes: longer pastes are text.
const LONGEST_PATH: usize = 4_096;
/// Endings of images that models take.
const IMAGES: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// Part of a prompt that stands in the composer as one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chip {
    /// A long paste.
    Paste(String),
    /// A pasted path that the door looks for, as it was pasted.
    Path(String),
    /// An image by its number in this session.
    Image(usize),
}

impl Chip {
    /// Text in the prompt that is sent.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Paste(text) | Self::Path(text) => text.clone(),
            Self::Image(number) => mark(*number),
        }
    }

    /// Text on the screen.
    pub(crate) fn label(&self) -> String {
        let text = match self {
            Self::Path(text) => return clean(text),
            Self::Image(number) => return mark(*number),
            Self::Paste(text) => text,
        };
        let (count, what) = match text.lines().count() {
            0 | 1 => (text.chars().count(), "characters"),
            lines => (lines, "lines"),
        };
        let count = Grouped(u64::try_from(count).unwrap_or(u64::MAX));
        format!("[pasted {count} {what}]")
    }
}

impl Composer {
    /// Writes a chip at the cursor; false if there are too many.
    pub(crate) fn put_chip(&mut self, chip: Chip) -> bool {
        let place = u32::try_from(self.chips.len()).ok();
        let character = place.and_then(|at| char::from_u32(FIRST_CHIP + at));
        let Some(character) = character.filter(|_| self.chips.len() < MOST_CHIPS) else {
            return false;
        };
        self.chips.push(chip);
        self.text.insert(self.cursor, character);
        self.cursor += character.len_utf8();
        true
    }

    /// True if a path that was pasted is still looked for.
    pub(crate) fn awaits(&self, pasted: &str) -> bool {
        self.chips
            .iter()
            .any(|chip| matches!(chip, Chip::Path(text) if text == pasted))
    }

    /// Makes a pasted path an image, or leaves it as the text that was pasted.
    pub(crate) fn settle(&mut self, pasted: &str, image: Option<usize>) {
        for chip in &mut self.chips {
            if matches!(chip, Chip::Path(text) if text == pasted) {
                *chip = image.map_or_else(|| Chip::Paste(pasted.to_owned()), Chip::Image);
            }
        }
        if image.is_none() && !self.text.is_empty() {
            self.spell_out(pasted);
        }
    }

    /// Puts the text of a chip in its place.
    fn spell_out(&mut self, pasted: &str) {
        let is_it = |character: char| {
            let found = chip(character).and_then(|at| self.chips.get(at));
            matches!(found, Some(Chip::Paste(text)) if text == pasted)
        };
        let places = self.text.char_indices().filter(|(_, it)| is_it(*it));
        // From the last on, so that the places of the others stay.
        for (at, character) in places.collect::<Vec<_>>().into_iter().rev() {
            let (text, taken) = (own(pasted), character.len_utf8());
            self.text.replace_range(at..at + taken, &text);
            if self.cursor > at {
                self.cursor = self.boundary(self.cursor + text.len() - taken);
            }
        }
    }
}

/// Mark of an image in a prompt.
pub(crate) fn mark(number: usize) -> String {
    format!("[Image #{number}]")
}

/// Place of the chip that a character stands for.
pub(crate) fn chip(character: char) -> Option<usize> {
    let at = u32::from(character).checked_sub(FIRST_CHIP)?;
    usize::try_from(at).ok().filter(|at| *at < MOST_CHIPS)
}

/// Path in a paste that is nothing but the name of an image, as terminals write a dropped file: quoted,
/// with escaped blanks, or as an address.
pub(crate) fn image_path(paste: &str) -> Option<String> {
    let text = paste.trim();
    if text.contains(['\n', '\r']) || text.len() > LONGEST_PATH {
        return None;
    }
    let quoted = ['\'', '"'].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        Some(inner.to_owned())
    });
    let path = match (quoted, text.strip_prefix("file://")) {
        (Some(path), _) => path,
        (None, Some(address)) => decoded(address)?,
        (None, None) => unescaped(text),
    };
    let small = path.to_lowercase();
    IMAGES
        .iter()
        .any(|ending| small.ends_with(ending) && small.len() > ending.len())
        .then_some(path)
}

/// Text without the backslashes in front of its characters.
fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut path = String::new();
    while let Some(character) = characters.next() {
        let escaped = (character == '\\').then(|| characters.next()).flatten();
        path.push(escaped.unwrap_or(character));
    }
    path
}

/// Path of an address, its percent signs decoded; none if it is of another machine or not sound.
fn decoded(address: &str) -> Option<String> {
    let address = address.strip_prefix("localhost").unwrap_or(address);
    if !address.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::image_path;

    #[test]
    fn a_dropped_image_is_known_by_its_path_alone() {
        for (paste, path) in [
            ("/tmp/a.png", Some("/tmp/a.png")),
            (" '/tmp/a b.PNG' \n", Some("/tmp/a b.PNG")),
            ("\"/tmp/it's.webp\"", Some("/tmp/it's.webp")),
            ("/tmp/a\\ b\\(1\\).jpeg", Some("/tmp/a b(1).jpeg")),
            ("file:///tmp/a%20%C3%A9.gif", Some("/tmp/a é.gif")),
            ("file://elsewhere/a.gif", None),
            ("file:///tmp/%zz.gif", None),
            ("/tmp/a.png\n/tmp/b.png", None),
            ("/tmp/a.txt", None),
            (".png", None),
            ("", None),
        ] {
            assert_eq!(image_path(paste).as_deref(), path, "{paste:?}");
        }
    }
}
