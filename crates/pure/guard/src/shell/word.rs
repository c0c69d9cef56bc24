//! Word of a command line, in the form the command receives.

use super::reason::Reason;

/// Word without any part that the shell replaces, except file name patterns, which are marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Text that the command receives; for a pattern, the pattern itself.
    pub(super) text: String,
    /// True if the shell would replace it by the names of matching files.
    pub(super) glob: bool,
    /// True if it begins with the user's home, written `~`.
    pub(super) home: bool,
    /// True if every character was written literally, without quotes or escapes.
    pub(super) plain: bool,
}

/// Characters after which a `$` in double quotes is literal, as in `grep "end$"`. Every other one
/// may begin an expansion in some shell.
const AFTER_LITERAL_DOLLAR: [char; 5] = ['"', '|', ')', ' ', '/'];

impl Word {
    /// Part of another word, such as the value after `=`.
    pub(super) fn literal(text: &str, glob: bool) -> Self {
        Self {
            text: text.to_owned(),
            glob,
            home: false,
            plain: false,
        }
    }

    /// The name of the command `[`, which looks like the beginning of a pattern.
    pub(super) fn bracket() -> Self {
        Self {
            text: "[".to_owned(),
            glob: true,
            home: false,
            plain: true,
        }
    }

    /// Removes the quotes, or returns the part that the shell would replace.
    pub(super) fn read(raw: &str) -> Result<Self, Reason> {
        let mut reader = Reader {
            raw,
            rest: raw,
            word: Self {
                text: String::new(),
                glob: false,
                home: false,
                plain: true,
            },
            braces: false,
            list: false,
        };
        reader.read()?;
        Ok(reader.word)
    }
}

struct Reader<'a> {
    raw: &'a str,
    rest: &'a str,
    word: Word,
    /// True if a `{` was seen outside of quotes.
    braces: bool,
    /// True if a comma or `..` was, which makes braces expand.
    list: bool,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Reason> {
        self.tilde()?;
        while let Some(character) = self.next() {
            match character {
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '\\' => {
                    let escaped = self.next().ok_or_else(|| self.unfinished())?;
                    self.word.plain = false;
                    self.word.text.push(escaped);
                }
                '$' | '`' => return Err(self.expansion()),
                // Only a lexer error puts one of these into a word; refused as a second line of
                // defence.
                '(' | ')' | '<' | '>' | '&' | '|' | ';' | ' ' | '\t' => {
                    return Err(self.unfinished());
                }
                _ => self.unquoted(character),
            }
        }
        if self.braces && self.list {
            return Err(Reason::Braces {
                word: self.raw.to_owned(),
            });
        }
        Ok(())
    }

    fn unquoted(&mut self, character: char) {
        match character {
            '*' | '?' | '[' => self.word.glob = true,
            '{' => self.braces = true,
            ',' => self.list = true,
            '.' if self.rest.starts_with('.') => self.list = true,
            _ => {}
        }
        self.word.text.push(character);
    }

    /// Marks `~` and `~/…` as the user's home. `~name`, `~+` and `~-` lead elsewhere and are
    /// refused.
    fn tilde(&mut self) -> Result<(), Reason> {
        if let Some(after) = self.rest.strip_prefix('~') {
            if !after.is_empty() && !after.starts_with('/') {
                return Err(Reason::Tilde {
                    word: self.raw.to_owned(),
                });
            }
            self.word.home = true;
        }
        Ok(())
    }

    fn single_quoted(&mut self) -> Result<(), Reason> {
        self.word.plain = false;
        let (inside, after) = self
            .rest
            .split_once('\'')
            .ok_or_else(|| self.unfinished())?;
        self.word.text.push_str(inside);
        self.rest = after;
        Ok(())
    }

    fn double_quoted(&mut self) -> Result<(), Reason> {
        self.word.plain = false;
        loop {
            match self.next().ok_or_else(|| self.unfinished())? {
                '"' => return Ok(()),
                '\\' => {
                    let escaped = self.next().ok_or_else(|| self.unfinished())?;
                    // Inside double quotes a backslash escapes only these; otherwise it is literal.
                    if !matches!(escaped, '$' | '`' | '"' | '\\') {
                        self.word.text.push('\\');
                    }
                    self.word.text.push(escaped);
                }
                '$' if self.rest.starts_with(AFTER_LITERAL_DOLLAR) => self.word.text.push('$'),
                '$' | '`' => return Err(self.expansion()),
                character => self.word.text.push(character),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next();
        self.rest = characters.as_str();
        character
    }

    fn expansion(&self) -> Reason {
        Reason::Expansion {
            word: self.raw.to_owned(),
        }
    }

    fn unfinished(&self) -> Reason {
        Reason::Unparsable {
            detail: format!("`{}` is no whole word", self.raw),
        }
    }
}
