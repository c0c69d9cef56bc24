//! Vocabulary of dates in English and German, in lower case.

use jiff::civil::Weekday;

/// Month named by a word.
pub(super) fn month(word: &str) -> Option<i8> {
    let month = match word {
        "january" | "jan" | "januar" | "jänner" => 1,
        "february" | "feb" | "februar" => 2,
        "march" | "mar" | "märz" | "mär" => 3,
        "april" | "apr" => 4,
        "may" | "mai" => 5,
        "june" | "jun" | "juni" => 6,
        "july" | "jul" | "juli" => 7,
        "august" | "aug" => 8,
        "september" | "sep" | "sept" => 9,
        "october" | "oct" | "oktober" | "okt" => 10,
        "november" | "nov" => 11,
        "december" | "dec" | "dezember" | "dez" => 12,
        _ => return None,
    };
    Some(month)
}

/// True if a text begins with the name of a month.
pub(crate) fn starts_with_month(text: &str) -> bool {
    let end = text
        .find(|found: char| !found.is_alphabetic())
        .unwrap_or(text.len());
    // No name is longer than 12 bytes; folding a longer word would be wasted.
    end <= 12 && month(&text[..end].to_lowercase()).is_some()
}

/// Weekday named by a word in full; short forms are ambiguous and separate.
pub(super) fn weekday(word: &str) -> Option<Weekday> {
    let day = match word {
        "monday" | "montag" => Weekday::Monday,
        "tuesday" | "dienstag" => Weekday::Tuesday,
        "wednesday" | "mittwoch" => Weekday::Wednesday,
        "thursday" | "donnerstag" => Weekday::Thursday,
        "friday" | "freitag" => Weekday::Friday,
        "saturday" | "samstag" | "sonnabend" => Weekday::Saturday,
        "sunday" | "sonntag" => Weekday::Sunday,
        _ => return None,
    };
    Some(day)
}

/// Weekday named by a short form.
pub(super) fn short_weekday(word: &str) -> Option<Weekday> {
    let day = match word {
        "mon" | "mo" => Weekday::Monday,
        "tue" | "tues" | "di" => Weekday::Tuesday,
        "wed" | "mi" => Weekday::Wednesday,
        "thu" | "thur" | "thurs" | "do" => Weekday::Thursday,
        "fri" | "fr" => Weekday::Friday,
        "sat" | "sa" => Weekday::Saturday,
        "sun" | "so" => Weekday::Sunday,
        _ => return None,
    };
    Some(day)
}

/// Number named by a word.
pub(super) fn number(word: &str) -> Option<i32> {
    let number = match word {
        "a" | "an" | "one" | "ein" | "eine" | "einem" | "einen" | "einer" => 1,
        "two" | "zwei" => 2,
        "three" | "drei" => 3,
        "four" | "vier" => 4,
        "five" | "fünf" => 5,
        "six" | "sechs" => 6,
        "seven" | "sieben" => 7,
        "eight" | "acht" => 8,
        "nine" | "neun" => 9,
        "ten" | "zehn" => 10,
        "eleven" | "elf" => 11,
        "twelve" | "zwölf" => 12,
        "fourteen" | "vierzehn" => 14,
        "fifteen" | "fünfzehn" => 15,
        "twenty" | "zwanzig" => 20,
        "thirty" | "dreißig" => 30,
        _ => return None,
    };
    Some(number)
}

/// Unit in which relative dates are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    Week,
    Weekend,
    Month,
    Quarter,
    Year,
}

pub(super) fn unit(word: &str) -> Option<Unit> {
    let unit = match word {
        "day" | "days" | "tag" | "tage" | "tagen" | "tages" => Unit::Day,
        "week" | "weeks" | "woche" | "wochen" => Unit::Week,
        "weekend" | "wochenende" | "wochenendes" => Unit::Weekend,
        "month" | "months" | "monat" | "monate" | "monaten" | "monats" => Unit::Month,
        "quarter" | "quarters" | "quartal" | "quartale" | "quartalen" | "quartals" => Unit::Quarter,
        "year" | "years" | "jahr" | "jahre" | "jahren" | "jahres" => Unit::Year,
        _ => return None,
    };
    Some(unit)
}

/// Step in a series: -1 for the previous, 0 for this, 1 for the next.
pub(super) fn step(word: &str) -> Option<i32> {
    match word {
        "this" | "current" => Some(0),
        "next" | "coming" | "upcoming" => Some(1),
        "last" | "previous" | "past" => Some(-1),
        _ => {
            let starts = |stems: &[&str]| {
                // Inflected endings of at most two letters: "nächste", "nächsten", "kommendes".
                stems.iter().any(|stem| {
                    word.strip_prefix(stem)
                        .is_some_and(|ending| ending.len() <= 2 && ending.is_ascii())
                })
            };
            if starts(&["dies", "laufend"]) {
                Some(0)
            } else if starts(&["nächst", "kommend"]) {
                Some(1)
            } else if starts(&["letzt", "vergangen", "vorig"]) {
                Some(-1)
            } else {
                None
            }
        }
    }
}

/// Parts of a day that may follow a date.
pub(super) const PARTS_OF_DAY: &[&str] = &[
    "morning",
    "afternoon",
    "evening",
    "night",
    "noon",
    "früh",
    "morgen",
    "vormittag",
    "mittag",
    "nachmittag",
    "abend",
    "nacht",
];
