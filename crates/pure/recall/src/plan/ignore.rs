//! Detection of a wish to do without memory.
//!
//! # Model
//! A word that turns memory off, a few words that may stand between, and memory itself at the end
//! of its phrase: "ignore your memory", "ohne dein Gedächtnis". Talk about a computer's memory
//! ("without memory leaks", "ignore memory warnings") goes on behind the word and is not meant.
//!
//! # Not here
//! Switching memory off for good: that is the setting `memory`.

/// Words for the memory that Dormouse keeps.
const MEMORY: [&str; 6] = [
    "memory",
    "memories",
    "gedächtnis",
    "gedaechtnis",
    "erinnerungen",
    "erinnerung",
];

/// Words that may stand between.
const BETWEEN: [&str; 46] = [
    "your",
    "the",
    "any",
    "all",
    "my",
    "our",
    "of",
    "saved",
    "stored",
    "previous",
    "earlier",
    "past",
    "existing",
    "using",
    "consulting",
    "use",
    "looking",
    "at",
    "into",
    "dein",
    "deine",
    "deinem",
    "deiner",
    "deines",
    "die",
    "das",
    "dem",
    "den",
    "alle",
    "allen",
    "bitte",
    "please",
    "mein",
    "meine",
    "gespeicherte",
    "gespeicherten",
    "bisherige",
    "bisherigen",
    "ihr",
    "ihre",
    "sie",
    "in",
    "ins",
    "auf",
    "mal",
    "what's",
];

/// Words that may follow: a new phrase, not the second half of a compound.
const BEHIND: [&str; 44] = [
    "for",
    "in",
    "on",
    "and",
    "when",
    "while",
    "this",
    "here",
    "now",
    "today",
    "please",
    "just",
    "but",
    "to",
    "at",
    "or",
    "then",
    "files",
    "directory",
    "from",
    "entirely",
    "completely",
    "bei",
    "für",
    "und",
    "hier",
    "jetzt",
    "bitte",
    "diesmal",
    "nicht",
    "aber",
    "beim",
    "in",
    "heute",
    "weg",
    "außen",
    "beiseite",
    "zu",
    "mal",
    "komplett",
    "vollständig",
    "einfach",
    "out",
    "aside",
];

/// True if a prompt says to ignore memory.
pub(super) fn says_to_ignore_memory(prompt: &str) -> bool {
    let lower = prompt.to_lowercase().replace('’', "'");
    let words: Vec<Word<'_>> = lower.split_whitespace().map(Word::new).collect();
    (0..words.len()).any(|at| turns_off(&words, at)) || turns_off_in_chinese(prompt)
}

/// The same in Chinese: a verb that turns memory off, a few words between, and memory; or memory
/// first, and the verb behind it.
fn turns_off_in_chinese(prompt: &str) -> bool {
    const MEMORY: [&str; 3] = ["长期记忆", "记忆库", "记忆"];
    // Computer memory, memory cards and memoisation have words that begin alike.
    const COMPOUNDS: [&str; 6] = ["体", "卡", "化", "泄", "棒", "条"];
    const OFF: [&str; 22] = [
        "忽略掉",
        "忽略",
        "无视",
        "不要使用",
        "不要用",
        "别使用",
        "别用",
        "不使用",
        "不用",
        "不要参考",
        "别参考",
        "不参考",
        "不要看",
        "别看",
        "不要读",
        "别读",
        "不考虑",
        "别考虑",
        "不要考虑",
        "抛开",
        "撇开",
        "不依赖",
    ];
    const BETWEEN: [&str; 20] = [
        "你的",
        "你",
        "之前的",
        "以前的",
        "所有的",
        "所有",
        "全部",
        "任何",
        "已有的",
        "已保存的",
        "保存的",
        "存储的",
        "过去的",
        "我的",
        "现有的",
        "历史",
        "一下",
        "那些",
        "的",
        "之前",
    ];
    const NOT: [&str; 6] = ["不要", "别", "不能", "不可以", "不可", "不应该"];
    prompt.match_indices("记忆").any(|(at, _)| {
        let mut behind = &prompt[at..];
        if let Some(word) = MEMORY.iter().find(|word| behind.starts_with(**word)) {
            behind = &behind[word.len()..];
        }
        if COMPOUNDS.iter().any(|next| behind.starts_with(next)) {
            return false;
        }
        let mut before = prompt[..at].trim_end_matches("长期").trim_end();
        while let Some(rest) = BETWEEN.iter().find_map(|word| before.strip_suffix(word)) {
            before = rest.trim_end();
        }
        let verb = OFF.iter().find_map(|verb| before.strip_suffix(verb));
        // "不要忽略记忆" means the opposite; the other verbs have their negation in them.
        let negated = |rest: &str| NOT.iter().any(|not| rest.trim_end().ends_with(not));
        let first = verb.is_some_and(|rest| !negated(rest));
        let behind = behind.trim_start_matches(['先', '就', '都', '请', '，', ' ']);
        let then = OFF.iter().any(|verb| behind.starts_with(verb));
        first || then
    })
}

struct Word<'a> {
    text: &'a str,
    /// True if a phrase ends behind it.
    ends: bool,
}

impl<'a> Word<'a> {
    fn new(raw: &'a str) -> Self {
        let text =
            raw.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '_')));
        let behind = raw.rfind(text).map_or("", |at| &raw[at + text.len()..]);
        Self {
            text,
            // Kept apart from the word, because trimming it would lose where the phrase ends.
            ends: behind.contains(['.', ',', ';', ':', '!', '?', ')', '…']),
        }
    }
}

/// True if a phrase that turns memory off begins at a word.
fn turns_off(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at) else {
        return false;
    };
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    // "Do not ignore your memory" means the opposite.
    let negated = before.is_some_and(|word| is_negation(word.text));
    match word.text {
        "ignore" | "disregard" | "ignoring" | "skip" | "ignoriere" | "ignorier" | "ignoriert" => {
            !negated && memory_after(words, at).is_some()
        }
        // "Dein Gedächtnis bitte ignorieren", "ignorieren Sie Ihr Gedächtnis".
        "ignorieren" | "ausblenden" | "weglassen" => {
            !negated && (memory_after(words, at).is_some() || memory_before(words, at))
        }
        "lass" | "lasse" | "lassen" | "leave" | "put" => {
            memory_after(words, at).is_some_and(|found| {
                let next = words.get(found + 1);
                let away = ["weg", "außen", "beiseite", "out", "aside"];
                next.is_some_and(|next| away.contains(&next.text))
            })
        }
        "schau" | "schaue" | "sieh" | "guck" | "greif" | "greife" | "look" => {
            // The negation stands behind the verb: "schau nicht in dein Gedächtnis".
            let nicht = words.get(at + 1).is_some_and(|next| next.text == "nicht");
            let from = if nicht { at + 1 } else { at };
            (nicht || negated) && memory_after(words, from).is_some()
        }
        "without" | "ohne" => memory_after(words, at).is_some(),
        // "Use your memory" is a wish for it; only the negation turns it off.
        "use" | "consult" | "check" | "access" | "apply" => {
            negated && memory_after(words, at).is_some()
        }
        "nutze" | "nutz" | "benutze" | "benutz" | "verwende" | "verwend" => {
            // German negates with "kein" before the noun or with "nicht" behind it.
            let keine = words
                .get(at + 1)
                .is_some_and(|next| matches!(next.text, "kein" | "keine" | "keinerlei"));
            let from = if keine { at + 1 } else { at };
            memory_after(words, from).is_some_and(|found| {
                keine
                    || words
                        .get(found + 1)
                        .is_some_and(|next| next.text == "nicht")
            })
        }
        _ => false,
    }
}

/// True if the words before lead to memory: an infinitive stands behind its object.
fn memory_before(words: &[Word<'_>], at: usize) -> bool {
    let before = words[..at].iter().rev();
    let mut before = before.skip_while(|word| !word.ends && BEHIND.contains(&word.text));
    before
        .next()
        .is_some_and(|word| !word.ends && MEMORY.contains(&word.text))
}

fn is_negation(word: &str) -> bool {
    matches!(word, "don't" | "dont" | "not" | "never" | "nicht")
}

/// Position of the word for memory, if that is what follows.
fn memory_after(words: &[Word<'_>], at: usize) -> Option<usize> {
    let between = words
        .get(at + 1..)?
        .iter()
        // A comma ends the phrase: "ignore the tests, memory is fine".
        .take_while(|word| BETWEEN.contains(&word.text) && !word.ends)
        .count();
    let found = at + 1 + between;
    let word = words.get(found)?;
    if !MEMORY.contains(&word.text) {
        return None;
    }
    let ends = word.ends
        || words
            .get(found + 1)
            .is_none_or(|next| BEHIND.contains(&next.text));
    ends.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::says_to_ignore_memory;

    #[test]
    fn the_user_may_do_without_memory() {
        for prompt in [
            "Ignore memory and tell me what you see",
            "please ignore your memories for this one",
            "Answer without using your memory: what is 2+2?",
            "Don't use your memory here.",
            "don’t use any saved memories",
            "do not use memory",
            "Explain it without memory.",
            "Ignoriere bitte deine Erinnerungen.",
            "Beantworte das ohne dein Gedächtnis",
            "Nutze dein Gedächtnis nicht, schau in den Code",
            "verwende keine Erinnerungen",
            "Dein Gedächtnis bitte ignorieren.",
            "Ignorieren Sie bitte Ihr Gedächtnis",
            "Lass das Gedächtnis weg und schau in den Code",
            "schau nicht in dein Gedächtnis",
            "leave your memory out of this",
            "忽略记忆，直接看代码",
            "请忽略你之前的记忆",
            "不要用记忆回答",
            "这次别参考以前的记忆",
            "不要使用任何已保存的记忆",
            "记忆先不用，重新分析一下",
            "抛开你的长期记忆来看",
        ] {
            assert!(says_to_ignore_memory(prompt), "{prompt}");
        }
    }

    #[test]
    fn a_computers_memory_is_not_meant() {
        for prompt in [
            "make it run without memory leaks",
            "ignore memory warnings of valgrind",
            "don't use memory-mapped files",
            "do not ignore your memory",
            "use your memory",
            "ignore the tests, memory is fine",
            "Nutze dein Gedächtnis",
            "what is in memory?",
            "don't look, memory is full",
            "Speicher nicht ignorieren",
            "lass das Gedächtnis an",
            "不要忽略你的记忆",
            "请用你的记忆回答",
            "不要用记忆体太大的机型",
            "别用记忆化搜索",
            "把这条存进记忆",
            "",
        ] {
            assert!(!says_to_ignore_memory(prompt), "{prompt}");
        }
    }
}
