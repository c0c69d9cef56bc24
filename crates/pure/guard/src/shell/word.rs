//! One word of a command line, as the command would get it.

use super::reason::Reason;

/// A word without anything the shell replaces, except file name patterns that stay what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// What the command gets. Of a pattern, the pattern.
    pub(super) text: String,
    /// Whether the shell would replace it by the names of files it matches.
    pub(super) glob: bool,
    /// Whether it begins with the user's home, written `~`.
    pub(super) home: bool,
    /// Whether every character of it was written as it is, without quotes.
    pub(super) plain: bool,
}

/// What may follow a `$` in double quotes for it to be just that, as in `grep "end$"`.
const AFTER_LITERAL_DOLLAR: [char; 5] = ['"', '|', ')', ' ', '/'];

impl Word {
    /// A part of another word, such as the value after `=`.
    pub(super) fn literal(text: &str, glob: bool) -> Self {
        Self {
            text: text.to_owned(),
            glob,
            home: false,
            plain: false,
        }
    }

    /// Takes the quotes off, or says what in it the shell would replace.
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
    /// A `{` was seen outside of quotes.
    braces: bool,
    /// So was what makes a list or a range of braces.
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
                // Only a broken reading of the line puts one of these into a word.
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

    /// `~` and `~/…` are the home of whoever runs it. `~name`, `~+`, `~-` are something else.
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
