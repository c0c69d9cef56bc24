//! Words by which people state a credential, by language: `data/secrets/languages.toml`.
//!
//! # Not here
//! Reading of sentences: [`statement`](super::statement).

use super::characters::is_unspaced;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::LazyLock;

const LANGUAGES: &str = include_str!("../../data/secrets/languages.toml");

/// Nouns for random tokens, in English: programs and documentation of all languages use them.
const TOKENS: [&str; 20] = [
    "token",
    "api key",
    "api-key",
    "apikey",
    "access key",
    "access-key",
    "secret key",
    "client secret",
    "shared secret",
    "app secret",
    "webhook secret",
    "signing secret",
    "private key",
    "deploy key",
    "license key",
    "encryption key",
    "auth key",
    "bearer",
    "api secret",
    "account key",
];
/// Nouns for codes that stand in for a password.
const CODES: [&str; 8] = [
    "recovery code",
    "recovery codes",
    "backup code",
    "backup codes",
    "one-time code",
    "unlock code",
    "access code",
    "activation code",
];
/// Nouns for a number that unlocks. Upper case, because a `pin` is also a part of a board.
const PINS: [&str; 2] = ["PIN", "PUK"];
/// Nouns for a list of words that unlocks a wallet or key.
const PHRASES: [&str; 7] = [
    "seed phrase",
    "recovery phrase",
    "mnemonic",
    "seed words",
    "passphrase",
    "backup phrase",
    "secret phrase",
];

/// Kind of credential that a noun announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Noun {
    Password,
    Token,
    Code,
    Pin,
    Phrase,
}

impl Noun {
    /// Name of the rule as shown in findings.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::Password => "stated-password",
            Self::Token => "stated-token",
            Self::Code => "stated-code",
            Self::Pin => "stated-pin",
            Self::Phrase => "stated-phrase",
        }
    }

    /// All kinds, in the order of precedence.
    pub(super) const ALL: [Self; 5] = [
        Self::Password,
        Self::Token,
        Self::Code,
        Self::Pin,
        Self::Phrase,
    ];
}

#[derive(Deserialize)]
struct File {
    language: Vec<Language>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    name: String,
    passwords: Vec<String>,
    links: Vec<String>,
    #[serde(default)]
    directions: Vec<String>,
    #[serde(default)]
    compounds: Vec<String>,
    samples: Vec<String>,
}

/// Words of all languages together: a sentence need not say which one it is in.
pub(super) struct Vocabulary {
    /// Nouns in lower case (but for [`PINS`]), each with its kind and its language.
    pub(super) nouns: Vec<(String, Noun, usize)>,
    /// Links by language, the English ones first.
    links: Vec<Links>,
    compounds: HashSet<String>,
    /// Languages and the sentences that have to be found.
    pub(super) samples: Vec<(String, Vec<String>)>,
}

/// Words before a value in one language.
struct Links {
    firm: HashSet<String>,
    loose: HashSet<String>,
}

/// Strength of a word before a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// States the value: "is".
    Firm,
    /// May state it: "to".
    Loose,
}

impl Vocabulary {
    /// Vocabulary of the table, read on first use.
    pub(super) fn shared() -> &'static Self {
        static SHARED: LazyLock<Vocabulary> = LazyLock::new(|| {
            // A test reads the file, so that it is not empty here.
            let file = toml::from_str::<File>(LANGUAGES).unwrap_or(File {
                language: Vec::new(),
            });
            Vocabulary::new(file.language)
        });
        &SHARED
    }

    fn new(languages: Vec<Language>) -> Self {
        let fixed = |words: &'static [&'static str], noun| {
            words.iter().map(move |word| ((*word).to_owned(), noun, 0))
        };
        let mut vocabulary = Self {
            nouns: fixed(&PHRASES, Noun::Phrase)
                .chain(fixed(&TOKENS, Noun::Token))
                .chain(fixed(&CODES, Noun::Code))
                .chain(fixed(&PINS, Noun::Pin))
                .collect(),
            links: Vec::new(),
            compounds: HashSet::new(),
            samples: Vec::new(),
        };
        for (at, language) in languages.into_iter().enumerate() {
            let nouns = language.passwords.into_iter();
            vocabulary
                .nouns
                .extend(nouns.map(|word| (word, Noun::Password, at)));
            vocabulary.links.push(Links {
                firm: language.links.into_iter().collect(),
                loose: language.directions.into_iter().collect(),
            });
            vocabulary.compounds.extend(language.compounds);
            vocabulary.samples.push((language.name, language.samples));
        }
        vocabulary
    }

    /// Link that the text before a value ends with, quotes removed. The language of the noun comes
    /// first: Polish "to" states, English "to" may. A script without spaces has no words to compare,
    /// so that the end of the text decides there.
    pub(super) fn link(&self, before: &str, language: usize) -> Option<Link> {
        let last = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let ends = |words: &HashSet<String>| {
            let unspaced =
                |word: &String| word.chars().all(is_unspaced) && last.ends_with(word.as_str());
            words.contains(&last) || words.iter().any(unspaced)
        };
        let strength = |links: &Links| {
            if ends(&links.firm) {
                Some(Link::Firm)
            } else {
                ends(&links.loose).then_some(Link::Loose)
            }
        };
        // "Password" is a word of many languages, so that links of all others count too.
        self.links
            .get(language)
            .and_then(strength)
            .or_else(|| self.links.iter().find_map(strength))
    }

    /// True if this word after a noun makes it something else.
    pub(super) fn is_compound(&self, word: &str) -> bool {
        self.compounds.contains(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_and_every_language_has_a_sample() {
        let file: File = toml::from_str(LANGUAGES).unwrap();
        assert!(file.language.len() >= 15);
        for language in &file.language {
            assert!(!language.samples.is_empty(), "{}", language.name);
            assert!(!language.passwords.is_empty(), "{}", language.name);
        }
    }

    #[test]
    fn links_are_found_with_and_without_spaces() {
        let vocabulary = Vocabulary::shared();
        let of = |noun: &str| {
            let found = vocabulary.nouns.iter().find(|(word, _, _)| word == noun);
            found.map(|(_, _, language)| *language).unwrap()
        };
        assert_eq!(
            vocabulary.link("of the server is", of("password")),
            Some(Link::Firm)
        );
        assert_eq!(
            vocabulary.link("del server è", of("password")),
            Some(Link::Firm)
        );
        assert_eq!(
            vocabulary.link("数据库密码是", of("密码")),
            Some(Link::Firm)
        );
        assert_eq!(
            vocabulary.link("changed to", of("password")),
            Some(Link::Loose)
        );
        assert_eq!(
            vocabulary.link("do serwera to", of("hasło")),
            Some(Link::Firm)
        );
        assert_eq!(vocabulary.link("this", of("password")), None);
    }
}
