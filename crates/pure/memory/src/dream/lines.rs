//! Lines of a text, with the number of times each is there.

use std::collections::HashMap;

/// Lines that can be taken one by one.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    left: HashMap<&'a str, usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut left = HashMap::new();
        for line in text.lines() {
            *left.entry(line).or_default() += 1;
        }
        Self { left }
    }

    /// Takes one copy of a line; false if none is left.
    pub(super) fn take(&mut self, line: &str) -> bool {
        let Some(count) = self.left.get_mut(line).filter(|count| **count > 0) else {
            return false;
        };
        *count -= 1;
        true
    }
}
