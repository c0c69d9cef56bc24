//! Frames: two statements that say the same of one thing, or something else.
//!
//! # Model
//! A statement becomes the words that carry it, with dates, numbers and days of the week in one
//! notation, its endings cut, and its negation apart. Two statements with the same words say the
//! same. If both have all words in common but one run in each, they fill the same slot with
//! different values, and the newer replaces the older; likewise if only the negation differs, or
//! if one rejects by name what the other said. Two runs or more are two things, and both stay.
//!
//! Careful, because a replaced memory is not recalled any more: one sentence each, a shared part
//! of two words, or slots of one sort; never an environment, a season or a platform as the slot.
//!
//! # Not here
//! Copies and longer texts (`dormouse_text::duplicates`); the files of a replacement
//! ([`crate::write`], [`crate::dream`]).

mod notation;
#[cfg(test)]
mod tests;

use crate::topic::Topic;
use crate::trust::Origin;
use dormouse_text::segment::{Kind, segment};
use dormouse_text::synonyms;
use notation::{WEEKDAYS, is_figure, words};
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

/// Most words of a statement that is compared. A longer one says several things.
const MOST_WORDS: usize = 40;
/// Most words of an older statement that a newer one may leave out and still say the same.
const LITTLE: usize = 2;
/// Most words of a slot's value: "the AWS Parameter Store" has three.
const SLOT: usize = 4;

/// Relation of a newer statement to an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Says the same, or less of the same.
    Same,
    /// Another value for the same slot.
    Replaces,
    /// Something else, or more than can be told.
    Apart,
}

/// Sort of a word, as far as its form tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Word,
    Number,
    Date,
    Weekday,
    /// Environment, platform or season: it says where or when the rest holds.
    Scope,
}

#[derive(Clone, Debug)]
struct Token {
    text: String,
    sort: Sort,
    /// Place among all words, those without meaning included.
    at: usize,
}

/// Statement as words that carry it.
#[derive(Clone, Debug)]
pub struct Frame {
    tokens: Vec<Token>,
    /// Values that the statement turns down by name.
    rejected: Vec<String>,
    marks: BTreeSet<Mark>,
}

/// Mark of a statement as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// It denies or forbids.
    Negated,
    /// It says to hold beside others ("too", "also").
    Beside,
    /// It names one who owns, reviews or answers for something.
    Owner,
    /// It says when it stopped or began to hold.
    Timed,
    /// Something is said to lie or stand somewhere.
    Placed,
    /// It puts one thing above another, or leads from one to another: their order is its meaning.
    Ordered,
}

impl Frame {
    /// Frame of a statement; `None` if it has several sentences, or too many or too few words.
    pub fn of(text: &str) -> Option<Self> {
        let mut sentences = segment(text)
            .into_iter()
            .filter(|piece| piece.kind != Kind::Blank)
            .map(|piece| text[piece.trimmed(text)].to_owned());
        let (first, second) = (sentences.next()?, sentences.next());
        if second.is_some() {
            return None;
        }
        let words = words(&first);
        (words.len() <= MOST_WORDS).then(|| Self::read(&words))
    }

    fn read(words: &[String]) -> Self {
        let mut frame = Self {
            tokens: Vec::new(),
            rejected: Vec::new(),
            marks: BTreeSet::new(),
        };
        let mut rejects = false;
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).map(String::as_str);
            let before = at.checked_sub(1).map(|at| words[at].as_str());
            match word.as_str() {
                // "X, not Y" and "X instead of Y" name the value that is turned down.
                "," | "，" => {
                    rejects = next.is_some_and(|next| matches!(next, "not" | "nicht" | "und"))
                        && words[at + 1..].iter().any(|word| is_negation(word));
                }
                "instead" | "statt" | "anstatt" | "而不是" => rejects = true,
                "too" | "also" | "auch" | "additionally" | "zusätzlich" | "也" => {
                    frame.marks.insert(Mark::Beside);
                }
                "until" | "since" | "bis" | "seit" => {
                    frame.mark(Mark::Timed, next.is_some_and(is_timed));
                }
                // "black is out": the word before is turned down.
                "out" | "gone" | "dead" if before.is_some_and(|word| word == "is") => {
                    if let Some(last) = frame.tokens.pop() {
                        frame.rejected.push(last.text);
                    }
                }
                word if is_negation(word) => frame.mark(Mark::Negated, !rejects),
                word if listed(ORDERING, word) => frame.mark(Mark::Ordered, true),
                word if is_empty(word) => {
                    frame.mark(
                        Mark::Placed,
                        listed(
                            "liegt liegen steht stehen findet live lives located found",
                            word,
                        ),
                    );
                }
                word => {
                    frame.mark(Mark::Owner, is_owning(word));
                    let token = token(word, at);
                    if rejects {
                        frame.rejected.push(token.text);
                    } else {
                        frame.tokens.push(token);
                    }
                }
            }
        }
        frame
    }

    fn mark(&mut self, mark: Mark, holds: bool) {
        if holds {
            self.marks.insert(mark);
        }
    }

    fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    /// Words that carry the statement.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(|token| token.text.as_str())
    }

    /// Relation of a newer statement, this one, to an older one.
    pub fn relation(&self, older: &Self) -> Relation {
        let (mine, theirs) = (self.left_over(older), older.left_over(self));
        let shared = self.tokens.len() - mine.len();
        // A value that one turns down by name and the other has.
        let turned = |no: &Self, yes: &Self| {
            no.rejected
                .iter()
                .any(|word| yes.tokens.iter().any(|token| alike(&token.text, word)))
        };
        if shared > 0 && (turned(self, older) || turned(older, self)) {
            return Relation::Replaces;
        }
        if self.tokens.is_empty()
            || shared == 0
            || self.has(Mark::Beside)
            || self.has(Mark::Timed)
            || older.has(Mark::Timed)
        {
            return Relation::Apart;
        }
        if self.has(Mark::Negated) != older.has(Mark::Negated) {
            // With another slot as well, it is a rule for another thing.
            let other = !mine.is_empty() && !theirs.is_empty();
            let most = mine.len().max(theirs.len()) <= shared;
            return if other || !most || shared < 2 {
                Relation::Apart
            } else {
                Relation::Replaces
            };
        }
        match (mine.is_empty(), theirs.is_empty()) {
            // The same words the other way round: "tabs over spaces".
            (true, true) if self.is_turned(older) => Relation::Replaces,
            (true, true) => Relation::Same,
            // Nothing new: the older one says it, and a little more.
            (true, false) if older.adds_little(&theirs) => Relation::Same,
            (false, false) if self.is_slot(&mine, older, &theirs, shared) => Relation::Replaces,
            _ => Relation::Apart,
        }
    }

    /// True if both put the same things in another order, and the order matters.
    fn is_turned(&self, older: &Self) -> bool {
        let ordered = self.has(Mark::Ordered) && older.has(Mark::Ordered);
        let same = |(mine, theirs): (&Token, &Token)| alike(&mine.text, &theirs.text);
        ordered && !self.tokens.iter().zip(&older.tokens).all(same)
    }

    /// True if the words that only this statement has do not narrow it to a time, a number or a
    /// place: without those the newer one says more, not less.
    fn adds_little(&self, only: &[usize]) -> bool {
        only.len() <= LITTLE && only.iter().all(|at| self.tokens[*at].sort == Sort::Word)
    }

    /// True if what differs is one value in each.
    fn is_slot(&self, mine: &[usize], older: &Self, theirs: &[usize], shared: usize) -> bool {
        let run = |frame: &Self, list: &[usize]| {
            let places = || list.iter().map(|index| frame.tokens[*index].at);
            let (first, last) = (places().min()?, places().max()?);
            // All within one run, with nothing else between them.
            (last - first < list.len() && list.len() <= SLOT).then_some(first)
        };
        let (Some(first), Some(second)) = (run(self, mine), run(older, theirs)) else {
            return false;
        };
        let sorts = |frame: &Self, list: &[usize]| -> Vec<Sort> {
            list.iter().map(|index| frame.tokens[*index].sort).collect()
        };
        let (new, old) = (sorts(self, mine), sorts(older, theirs));
        if new.contains(&Sort::Scope) || old.contains(&Sort::Scope) {
            return false;
        }
        let typed = new == old && new.iter().all(|sort| *sort != Sort::Word);
        // The thing that is spoken of comes first; another thing is no other value, unless it is
        // the one who does it.
        let subject = |frame: &Self, first: usize| {
            frame.tokens.first().is_some_and(|token| token.at == first)
        };
        let subjects = subject(self, first) && subject(older, second);
        if subjects && !(self.has(Mark::Owner) && older.has(Mark::Owner)) {
            return false;
        }
        // Two words of frame, or one where nothing else is said: "Protokolle liegen in Confluence".
        let bare = self.tokens.len() == older.tokens.len() && mine.len() == 1 && theirs.len() == 1;
        typed
            || shared >= 2
            || bare && shared == 1 && self.has(Mark::Placed) && older.has(Mark::Placed)
    }

    /// Places of the words that the other has not.
    fn left_over(&self, other: &Self) -> Vec<usize> {
        let has = |token: &Token| {
            let mut others = other.tokens.iter();
            others.any(|other| alike(&other.text, &token.text))
        };
        let tokens = self.tokens.iter().enumerate();
        tokens
            .filter(|(_, token)| !has(token))
            .map(|(index, _)| index)
            .collect()
    }
}

/// Statement of a memory without its reason and its application, which are labelled.
pub(crate) fn said(text: &str) -> &str {
    let label = text.find("\n**").map_or(text.len(), |at| at);
    text[..label].trim()
}

/// Last day of a memory that another replaced; `None` if it has one, or the day is unknown.
pub(crate) fn last_day(replaced: &Topic, by: Option<&Origin>) -> Option<String> {
    let time = by.map(|origin| origin.time).filter(|time| time.0 > 0)?;
    let day = jiff::Timestamp::from_millisecond(time.0).ok()?;
    let day = day.to_zoned(jiff::tz::TimeZone::UTC).date();
    replaced.valid_until.is_none().then(|| day.to_string())
}

fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|item| item == word)
}

fn is_negation(word: &str) -> bool {
    listed(
        "not never no don't doesn't isn't aren't mustn't can't cannot without forbidden banned avoid nicht nie \
         niemals kein keine keinen keiner ohne verboten 不要 不能 不用 不许 不得 禁止 别 不 勿 切勿 从不 无需",
        word,
    )
}

/// True if a text denies or forbids something.
pub(crate) fn denies(text: &str) -> bool {
    words(text).iter().any(|word| is_negation(word))
}

fn is_owning(word: &str) -> bool {
    listed(
        "own owns owned owner reviews reviewed responsible maintains maintained leads zuständig verantwortlich \
         kümmert leitet 负责 approves",
        word,
    )
}

fn is_timed(word: &str) -> bool {
    word.chars().any(|letter| letter.is_ascii_digit())
        || MONTHS.split_whitespace().any(|month| month == word)
}

/// Words between two things whose order matters.
const ORDERING: &str = "over than rather before after from lieber vor nach 从 先";

const MONTHS: &str = "january february march april may june july august september october november december \
    januar februar märz mai juni juli oktober dezember";

/// Words without a meaning of their own here: articles, auxiliaries, places of words, politeness,
/// obligation (its opposite is a negation), and the user, of whom most statements are.
fn is_empty(word: &str) -> bool {
    const ENGLISH: &str = "a an the is are was were be been being to of in on at by for from with into onto through \
        via as it its this that there we our us you your i my me he she they them and or but then than so \
        please now currently always must should shall may can could will would do does has have had get gets \
        got need needs needed fine ok okay allowed want wants wanted like prefers prefer longer any \
        more anymore just only directly straight direct over rather done go goes out up user happens happen \
        seen found located live lives every all running remember pls dont each \
        forget note thanks";
    const GERMAN: &str = "der die das den dem des ein eine einen einem einer ist sind war wird werden wurde zu zum zur \
        im in am an auf aus bei mit von vom für über unter und oder es wir uns unser unsere ich du er sie man \
        bitte jetzt nun immer muss müssen soll sollen darf dürfen kann können möchte will nur mehr sein hat \
        haben direkt nutzer sich um frau herr steht stehen liegt liegen findet merk dir denk dran daran jedem \
        jeder jeden vergiss ausführen geschrieben";
    const CHINESE: &str = "的 了 是 在 有 也 都 就 还 要 会 能 由 把 被 给 让 向 从 里 里面 上 上面 之前 前 先 只 \
        现在 目前 必须 应该 需要 一律 统一 尽量 这样 我们 请 于 到 起 和 与 吧 啊 以后 记住 记得 所有";
    // One list after the other: "die" and "was" mean nothing in either language here.
    word.chars().all(|letter| !letter.is_alphanumeric())
        || listed(ENGLISH, word)
        || listed(GERMAN, word)
        || listed(CHINESE, word)
}

fn token(word: &str, at: usize) -> Token {
    const SCOPES: &str = "staging production prod test dev demo development linux windows macos android ios mobile web \
        desktop frontend backend summer winter spring autumn testumgebung produktion sommer winter \
        domestic overseas local remote ci";
    let plain = word.trim_start_matches('#');
    let sort = match () {
        () if plain.len() == 10 && plain.matches('-').count() == 2 && is_figure(plain) => {
            Sort::Date
        }
        () if is_figure(plain) => Sort::Number,
        () if WEEKDAYS.iter().any(|(_, day)| *day == word) => Sort::Weekday,
        () if listed(SCOPES, word) => Sort::Scope,
        () => Sort::Word,
    };
    let text = if sort == Sort::Word {
        stem(word)
    } else {
        word.to_owned()
    };
    Token { text, sort, at }
}

/// Word without common endings. Both languages at once: a wrong cut is the same in both
/// statements and does no harm.
fn stem(word: &str) -> String {
    if word.chars().any(|letter| !letter.is_alphabetic()) || !word.is_ascii() && is_han(word) {
        return word.to_owned();
    }
    let mut stem = canonical(word).to_owned();
    // "gepusht" is a form of "pushen", "ausgeliefert" of "ausliefern".
    for prefix in ["ge", "ausge", "abge", "einge", "aufge", "durchge"] {
        if let Some(rest) = stem.strip_prefix(prefix)
            && rest.len() >= 4
            && stem.ends_with('t')
        {
            stem = format!("{}{rest}", prefix.trim_end_matches("ge"));
            break;
        }
    }
    for ending in [
        "ungen", "ings", "ing", "ung", "ern", "ed", "en", "es", "er", "em", "et", "e", "s", "n",
        "t",
    ] {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.chars().count() >= 3
        {
            stem = rest.to_owned();
            break;
        }
    }
    stem
}

/// First word of the first group that has a word: "retained" and "kept" become one.
fn canonical(word: &str) -> &str {
    // Only verbs and adverbs that are said in many ways; two tools of one group are two values.
    const SAID: &str =
        "retained retain retention keeps kept begins begin starts start ends finishes stored";
    static TABLE: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = HashMap::new();
        for mut group in synonyms::groups() {
            let Some(first) = group.next() else { continue };
            for word in group {
                table.entry(word).or_insert(first);
            }
        }
        table
    });
    if listed(SAID, word) {
        table.get(word).copied().unwrap_or(word)
    } else {
        word
    }
}

/// True if two stems are forms of one word.
fn alike(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let plain = |word: &str| word.chars().all(char::is_alphabetic) && !is_han(word);
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    // Five letters and most of the longer one: "liefer" and "lieferung", not "test" and "tester".
    plain(a)
        && plain(b)
        && short.chars().count() >= 5
        && long.starts_with(short)
        && short.len() * 10 >= long.len() * 6
}

fn is_han(word: &str) -> bool {
    word.chars()
        .any(|letter| matches!(u32::from(letter), 0x3400..=0x9FFF))
}
