//! Words of a sentence in one notation: dates, numbers and days of the week are written alike,
//! and Chinese is cut into characters.

use dormouse_text::dates::{Precision, dates};
use jiff::civil::Date;

pub(super) fn is_figure(word: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_digit() || ".:-,%".contains(letter);
    word.starts_with(|letter: char| letter.is_ascii_digit()) && word.chars().all(allowed)
}

pub(super) const WEEKDAYS: [(&str, &str); 28] = [
    ("mondays", "monday"),
    ("tuesdays", "tuesday"),
    ("wednesdays", "wednesday"),
    ("thursdays", "thursday"),
    ("fridays", "friday"),
    ("saturdays", "saturday"),
    ("sundays", "sunday"),
    ("montags", "monday"),
    ("dienstags", "tuesday"),
    ("mittwochs", "wednesday"),
    ("donnerstags", "thursday"),
    ("freitags", "friday"),
    ("samstags", "saturday"),
    ("sonntags", "sunday"),
    ("montag", "monday"),
    ("dienstag", "tuesday"),
    ("mittwoch", "wednesday"),
    ("donnerstag", "thursday"),
    ("freitag", "friday"),
    ("samstag", "saturday"),
    ("sonntag", "sunday"),
    ("周一", "monday"),
    ("周二", "tuesday"),
    ("周三", "wednesday"),
    ("周四", "thursday"),
    ("周五", "friday"),
    ("周六", "saturday"),
    ("周日", "sunday"),
];

/// Figures for words of number.
const NUMBERS: [(&str, &str); 32] = [
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("twelve", "12"),
    ("once", "1"),
    ("twice", "2"),
    ("zwei", "2"),
    ("drei", "3"),
    ("vier", "4"),
    ("fünf", "5"),
    ("sechs", "6"),
    ("sieben", "7"),
    ("acht", "8"),
    ("neun", "9"),
    ("zehn", "10"),
    ("zwölf", "12"),
    ("twenty", "20"),
    ("thirty", "30"),
    ("sixty", "60"),
    ("dreißig", "30"),
    ("second", "2"),
    ("other", "2"),
    ("zweite", "2"),
    ("zweiten", "2"),
    ("third", "3"),
];

/// Words of a sentence in order, commas included, in one notation.
pub(super) fn words(sentence: &str) -> Vec<String> {
    // Any day: only the notation of absolute dates is wanted.
    let today = Date::constant(2026, 1, 1);
    let mut text = String::new();
    let mut at = 0;
    for mention in dates(sentence, today) {
        let is_day = mention.precision <= Precision::Day && mention.days.first == mention.days.last;
        let has_year = sentence[mention.range.clone()].contains("20");
        if is_day && has_year && mention.time.is_none() {
            text.push_str(&sentence[at..mention.range.start]);
            text.push(' ');
            text.push_str(&mention.days.first.to_string());
            text.push(' ');
            at = mention.range.end;
        }
    }
    text.push_str(&sentence[at..]);
    let mut words = Vec::new();
    let mut word = String::new();
    for letter in text.chars().chain([' ']) {
        let inside = letter.is_alphanumeric() || "'’_-.:/#+%".contains(letter);
        if inside && (word.is_empty() || is_wide(letter) == word.chars().any(is_wide)) {
            word.extend(letter.to_lowercase());
            continue;
        }
        flush(&mut word, &mut words);
        if inside {
            word.extend(letter.to_lowercase());
        } else if matches!(letter, ',' | '，' | ';' | '；') {
            words.push(",".to_owned());
        }
    }
    words
}

fn is_wide(letter: char) -> bool {
    matches!(u32::from(letter), 0x3400..=0x9FFF)
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    let taken = std::mem::take(word).replace('’', "'");
    let plain = taken.trim_matches(['.', ':', '-', '\'', '/', '+']);
    if plain.is_empty() {
        return;
    }
    if plain.chars().all(is_wide) {
        han(plain, words);
        return;
    }
    // "KeePass-Tresor" is two words; a date or a range is one.
    let parts = plain.split('-').filter(|part| !part.is_empty());
    if is_figure(plain) || !plain.chars().any(char::is_alphabetic) {
        words.push(plain.to_owned());
        return;
    }
    for part in parts {
        let day = WEEKDAYS.iter().find(|(form, _)| *form == part);
        let number = NUMBERS.iter().find(|(form, _)| *form == part);
        let found = day.or(number).map_or(part, |(_, name)| *name);
        words.push(found.to_owned());
    }
}

/// Chinese words: those of the lists whole, numbers as figures, all others character by character.
fn han(text: &str, words: &mut Vec<String>) {
    const WHOLE: [&str; 37] = [
        "记住",
        "记得",
        "所有",
        "不要",
        "不能",
        "不用",
        "不许",
        "不得",
        "禁止",
        "切勿",
        "从不",
        "无需",
        "里面",
        "上面",
        "之前",
        "现在",
        "目前",
        "必须",
        "应该",
        "需要",
        "一律",
        "统一",
        "尽量",
        "这样",
        "我们",
        "以后",
        "负责",
        "而不是",
        "周一",
        "周二",
        "周三",
        "周四",
        "周五",
        "周六",
        "周日",
        "用户",
        "客户",
    ];
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(word) = WHOLE.iter().find(|word| rest.starts_with(**word)) {
            let day = WEEKDAYS.iter().find(|(form, _)| form == word);
            words.push(day.map_or(*word, |(_, name)| *name).to_owned());
            rest = &rest[word.len()..];
        } else if let Some((value, length)) = figure(rest) {
            words.push(value.to_string());
            rest = &rest[length..];
        } else {
            words.push(letter.to_string());
            rest = &rest[letter.len_utf8()..];
        }
    }
}

/// Number that a text begins with, up to 99, and its length.
fn figure(text: &str) -> Option<(u32, usize)> {
    const DIGITS: &str = "零一二三四五六七八九";
    let digit = |letter: char| DIGITS.chars().position(|digit| digit == letter);
    let (mut value, mut length, mut any) = (0, 0, false);
    for letter in text.chars() {
        if letter == '十' {
            value = u32::max(value, 1).saturating_mul(10);
        } else if letter == '两' {
            value = u32::saturating_add(value, 2);
        } else if let Some(digit) = digit(letter) {
            value = value.saturating_add(u32::try_from(digit).unwrap_or_default());
        } else {
            break;
        }
        any = true;
        length += letter.len_utf8();
    }
    any.then_some((value, length))
}
