//! Signs of a text: what the judgement counts.
//!
//! # Model
//! Words in lower case and pairs of them, pairs and triples of Chinese characters, how the text
//! begins and ends, how long it is, and whether it names somebody or something. Code, addresses,
//! paths and numbers count as such, not by what they say: a rule about port 8081 is a rule about
//! any port.

use std::collections::BTreeSet;

/// Most characters that are read: more is a paste, and the time must not follow its length.
const MOST: usize = 1_000;

const CODE: &str = "<code>";
const ADDRESS: &str = "<address>";
const PATH: &str = "<path>";
const NUMBER: &str = "<number>";

/// Signs of a text, each once.
pub fn signs(text: &str) -> BTreeSet<String> {
    let text: String = text.chars().take(MOST).collect();
    let tokens = tokens(&text);
    let mut signs = BTreeSet::new();
    let mut length = 0.0;
    for token in &tokens {
        match token {
            Token::Han(run) => {
                // Two characters are about one word.
                length += f64::from(u32::try_from(run.len()).unwrap_or(u32::MAX)) / 1.5;
                for size in [2, 3] {
                    for piece in run.windows(size) {
                        signs.insert(format!("han {}", String::from_iter(piece)));
                    }
                }
                if let [only] = run[..] {
                    signs.insert(format!("han {only}"));
                }
            }
            Token::Word(word) => {
                length += 1.0;
                signs.insert(format!("word {word}"));
            }
        }
    }
    for pair in tokens.windows(2) {
        if let [Token::Word(first), Token::Word(second)] = pair {
            signs.insert(format!("pair {first} {second}"));
        }
    }
    if let Some(first) = tokens.first() {
        signs.insert(format!("begins {}", first.head()));
        if let Some(second) = tokens.get(1) {
            signs.insert(format!("begins {} {}", first.head(), second.head()));
        }
    }
    if let Some(last) = tokens.last() {
        signs.insert(format!("ends {}", last.tail()));
    }
    signs.insert(format!(
        "length {}",
        (length + 1.0_f64).log2().min(6.0).floor()
    ));
    if names(&text) {
        signs.insert("name".to_owned());
    }
    signs.insert("any".to_owned());
    signs
}

#[derive(Debug)]
enum Token {
    Word(String),
    Han(Vec<char>),
}

impl Token {
    fn head(&self) -> String {
        match self {
            Self::Word(word) => word.clone(),
            Self::Han(run) => run.iter().take(2).collect(),
        }
    }

    fn tail(&self) -> String {
        match self {
            Self::Word(word) => word.clone(),
            Self::Han(run) => run[run.len().saturating_sub(2)..].iter().collect(),
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    // Every second part stands in backticks.
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            tokens.push(Token::Word(CODE.to_owned()));
            continue;
        }
        for chunk in part.split_whitespace() {
            let inner = chunk.trim_matches(|letter: char| !letter.is_alphanumeric());
            if chunk.contains("://") {
                tokens.push(Token::Word(ADDRESS.to_owned()));
            } else if inner.contains('/') && !inner.chars().any(is_han) {
                tokens.push(Token::Word(PATH.to_owned()));
            } else {
                words(chunk, &mut tokens);
            }
        }
    }
    tokens
}

fn words(chunk: &str, tokens: &mut Vec<Token>) {
    let mut word = String::new();
    let mut run = Vec::new();
    let letters: Vec<char> = chunk.chars().collect();
    for (at, letter) in letters.iter().copied().enumerate() {
        let next = letters.get(at + 1);
        if is_han(letter) {
            push_word(&mut word, tokens);
            run.push(letter);
            continue;
        }
        push_run(&mut run, tokens);
        match letter {
            '\'' | '’' if !word.is_empty() && next.is_some_and(|next| next.is_alphanumeric()) => {
                word.push('\'');
            }
            letter if letter.is_alphanumeric() => word.extend(letter.to_lowercase()),
            letter => {
                push_word(&mut word, tokens);
                let mark = match letter {
                    '?' | '？' => "?",
                    '!' | '！' => "!",
                    ':' | '：' => ":",
                    _ => continue,
                };
                tokens.push(Token::Word(mark.to_owned()));
            }
        }
    }
    push_word(&mut word, tokens);
    push_run(&mut run, tokens);
}

fn push_word(word: &mut String, tokens: &mut Vec<Token>) {
    let taken = std::mem::take(word);
    if taken.starts_with(|letter: char| letter.is_ascii_digit()) {
        tokens.push(Token::Word(NUMBER.to_owned()));
    } else if !taken.is_empty() {
        tokens.push(Token::Word(taken));
    }
}

fn push_run(run: &mut Vec<char>, tokens: &mut Vec<Token>) {
    if !run.is_empty() {
        tokens.push(Token::Han(std::mem::take(run)));
    }
}

fn is_han(letter: char) -> bool {
    matches!(u32::from(letter), 0x3400..=0x9FFF)
}

/// True if a word inside a sentence begins with a capital letter.
fn names(text: &str) -> bool {
    let mut inside = false;
    text.split_whitespace().any(|word| {
        let capital = word.starts_with(char::is_uppercase)
            && word.chars().nth(1).is_some_and(char::is_lowercase);
        let found = inside && capital;
        inside = word.ends_with(|letter: char| letter.is_lowercase() || ",;".contains(letter));
        found
    })
}
