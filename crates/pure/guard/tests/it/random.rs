//! Random text that matches a pattern, the same in every run.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Upper bound on extra repetitions for `*` and `+`: longer texts test nothing new.
const MOST_MORE: u32 = 20;

/// Small pseudo-random generator with a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Number from 0 to below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    /// Text that the pattern matches. Assertions such as `^` and `\b` are ignored.
    pub(crate) fn text(&mut self, pattern: &Hir) -> String {
        let mut text = String::new();
        self.write(pattern, &mut text);
        text
    }

    fn write(&mut self, pattern: &Hir, text: &mut String) {
        match pattern.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).unwrap()),
            // A lone `.` is meant literally more often than not.
            HirKind::Class(Class::Unicode(class))
                if class.ranges().len() < 3 && class.maximum_len() == Some(4) =>
            {
                text.push('.');
            }
            HirKind::Class(class) => text.push(self.one_of(class)),
            HirKind::Capture(group) => self.write(&group.sub, text),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.write(part, text)),
            HirKind::Alternation(parts) => {
                let chosen = self.below(parts.len());
                self.write(&parts[chosen], text);
            }
            HirKind::Repetition(repetition) => {
                let most = repetition.max.unwrap_or(repetition.min + MOST_MORE);
                let more = usize::try_from(most - repetition.min).unwrap();
                let count = usize::try_from(repetition.min).unwrap() + self.below(more + 1);
                for _ in 0..count {
                    match repetition.sub.kind() {
                        HirKind::Class(class) => text.push(self.one_of(class)),
                        _ => self.write(&repetition.sub, text),
                    }
                }
            }
        }
    }

    /// Printable ASCII where possible: vendors make keys of nothing else.
    fn one_of(&mut self, class: &Class) -> char {
        let ranges: Vec<(u32, u32)> = match class {
            Class::Unicode(class) => class
                .iter()
                .map(|range| (range.start().into(), range.end().into()))
                .collect(),
            Class::Bytes(class) => class
                .iter()
                .map(|range| (range.start().into(), range.end().into()))
                .collect(),
        };
        let characters = ranges
            .iter()
            .flat_map(|(start, end)| *start..=(*end).min(0x7e));
        let printable: Vec<char> = characters
            .filter(|code| *code > 0x20)
            .filter_map(char::from_u32)
            .collect();
        match printable.len() {
            0 => ' ',
            count => printable[self.below(count)],
        }
    }
}
