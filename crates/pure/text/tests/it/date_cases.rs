//! Table of dates. All texts were written on Wednesday, 11 March 2026.

use dormouse_text::dates::{Doubt, Form, Mention, Precision, dates};
use jiff::civil::date;
use std::fmt::Write as _;

/// Compact form of a mention: `days precision`, then `time`, `~` for relative ones, and its
/// ambiguity.
fn render(text: &str, mention: &Mention) -> String {
    let mut out = format!("{} = {}", &text[mention.range.clone()], mention.days.first);
    if mention.days.first != mention.days.last {
        write!(out, "..{}", mention.days.last).unwrap();
    }
    match (mention.time, mention.precision) {
        (Some(time), _) => write!(out, " {time}").unwrap(),
        (None, Precision::Day) => {}
        (None, precision) => write!(out, " {precision:?}").unwrap(),
    }
    if let Some(offset) = mention.offset {
        write!(out, " {offset}").unwrap();
    }
    if mention.form == Form::Relative {
        out.push_str(" ~");
    }
    match mention.doubt {
        None => {}
        Some(Doubt::Order(other) | Doubt::Which(other)) => {
            write!(out, " or {}", other.first).unwrap();
        }
        Some(doubt) => write!(out, " {doubt:?}?").unwrap(),
    }
    out
}

fn check(cases: &[(&str, &[&str])]) {
    let today = date(2026, 3, 11);
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found: Vec<_> = dates(text, today)
            .iter()
            .map(|mention| render(text, mention))
            .collect();
        if found != *expected {
            writeln!(
                wrong,
                "{text:?}\n  expected {expected:?}\n  found    {found:?}"
            )
            .unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn absolute_dates_are_read() {
    check(&[
        ("due 2026-03-12.", &["2026-03-12 = 2026-03-12"]),
        ("(2026-03-12)", &["2026-03-12 = 2026-03-12"]),
        ("date:2026-3-2", &["2026-3-2 = 2026-03-02"]),
        ("since=2026-03-12", &["2026-03-12 = 2026-03-12"]),
        ("on 2026/03/12 we", &["2026/03/12 = 2026-03-12"]),
        ("12 March 2026", &["12 March 2026 = 2026-03-12"]),
        (
            "the 12th of March 2026",
            &["12th of March 2026 = 2026-03-12"],
        ),
        ("12 march 2026", &["12 march 2026 = 2026-03-12"]),
        ("March 12 2026", &["March 12 2026 = 2026-03-12"]),
        ("March 12, 2026", &["March 12, 2026 = 2026-03-12"]),
        ("Mar. 12th, 2026", &["Mar. 12th, 2026 = 2026-03-12"]),
        ("Sept 3, 2025", &["Sept 3, 2025 = 2025-09-03"]),
        ("12 Mar 2026", &["12 Mar 2026 = 2026-03-12"]),
        ("12.3.2026", &["12.3.2026 = 2026-03-12"]),
        ("am 12. 3. 2026 fertig", &["12. 3. 2026 = 2026-03-12"]),
        ("bis 05.12.2026", &["05.12.2026 = 2026-12-05"]),
        ("am 12.3. um", &["12.3. = 2026-03-12 Year?"]),
        ("am 12.3.26", &["12.3.26 = 2026-03-12 Year?"]),
        ("12. März 2026", &["12. März 2026 = 2026-03-12"]),
        ("am 1. Dezember 2025", &["1. Dezember 2025 = 2025-12-01"]),
        ("3/12/26", &["3/12/26 = 2026-03-12 or 2026-12-03"]),
        ("3/12/2026", &["3/12/2026 = 2026-03-12 or 2026-12-03"]),
        ("13/12/2026", &["13/12/2026 = 2026-12-13"]),
        ("12/13/2026", &["12/13/2026 = 2026-12-13"]),
        ("12/13/26", &["12/13/26 = 2026-12-13 Year?"]),
        ("3/3/2026", &["3/3/2026 = 2026-03-03"]),
        ("03-12-2026", &["03-12-2026 = 2026-03-12 or 2026-12-03"]),
        ("12 March", &["12 March = 2026-03-12 Year?"]),
        ("Dec 30", &["Dec 30 = 2025-12-30 Year?"]),
        ("March 2026", &["March 2026 = 2026-03-01..2026-03-31 Month"]),
        (
            "in February",
            &["February = 2026-02-01..2026-02-28 Month Year?"],
        ),
        ("im Mai 2027", &["Mai 2027 = 2027-05-01..2027-05-31 Month"]),
        (
            "for 2026-03 only",
            &["2026-03 = 2026-03-01..2026-03-31 Month"],
        ),
        ("2026-W11", &["2026-W11 = 2026-03-09..2026-03-15 Week"]),
        ("Q1 2026", &["Q1 2026 = 2026-01-01..2026-03-31 Quarter"]),
        ("Q4/2025", &["Q4/2025 = 2025-10-01..2025-12-31 Quarter"]),
        (
            "12–14 March 2026",
            &["12–14 March 2026 = 2026-03-12..2026-03-14 Span"],
        ),
        (
            "March 12-14, 2026",
            &["March 12-14, 2026 = 2026-03-12..2026-03-14 Span"],
        ),
        ("2026年3月12日", &["2026年3月12日 = 2026-03-12"]),
        ("会议在2026年3月12日举行", &["2026年3月12日 = 2026-03-12"]),
        ("29 February 2024", &["29 February 2024 = 2024-02-29"]),
        (
            "2026-03-12 and 2026-04-01",
            &["2026-03-12 = 2026-03-12", "2026-04-01 = 2026-04-01"],
        ),
        (
            "Thursday, 12 March 2026",
            &["Thursday, 12 March 2026 = 2026-03-12"],
        ),
        (
            "Friday, 12 March 2026",
            &["Friday, 12 March 2026 = 2026-03-12 Weekday?"],
        ),
        ("Thu 3/12/2026", &["Thu 3/12/2026 = 2026-03-12"]),
        (
            "Donnerstag, den 12.3.2026",
            &["Donnerstag, den 12.3.2026 = 2026-03-12"],
        ),
        ("end of March 2026", &["end of March 2026 = 2026-03-31"]),
        ("Ende April", &["Ende April = 2026-04-30 Year?"]),
        (
            "mid-April 2026",
            &["mid-April 2026 = 2026-04-11..2026-04-20 Span"],
        ),
        (
            "early June 2026",
            &["early June 2026 = 2026-06-01..2026-06-10 Span"],
        ),
    ]);
}

#[test]
fn times_belong_to_their_date() {
    check(&[
        (
            "2026-03-12T14:30:00Z",
            &["2026-03-12T14:30:00Z = 2026-03-12 14:30:00 +00"],
        ),
        (
            "2026-03-12T14:30:00.123+02:00",
            &["2026-03-12T14:30:00.123+02:00 = 2026-03-12 14:30:00 +02"],
        ),
        (
            "2026-03-12 14:30",
            &["2026-03-12 14:30 = 2026-03-12 14:30:00"],
        ),
        (
            "2026-03-12 14:30:05 ERROR",
            &["2026-03-12 14:30:05 = 2026-03-12 14:30:05"],
        ),
        (
            "20260312T143000Z",
            &["20260312T143000Z = 2026-03-12 14:30:00 +00"],
        ),
        (
            "12 March 2026 at 3pm",
            &["12 March 2026 at 3pm = 2026-03-12 15:00:00"],
        ),
        (
            "March 12, 2026, 3:30 pm",
            &["March 12, 2026, 3:30 pm = 2026-03-12 15:30:00"],
        ),
        (
            "tomorrow at 9 am",
            &["tomorrow at 9 am = 2026-03-12 09:00:00 ~"],
        ),
        (
            "morgen um 14 Uhr",
            &["morgen um 14 Uhr = 2026-03-12 14:00:00 ~"],
        ),
        (
            "heute 14.30 Uhr",
            &["heute 14.30 Uhr = 2026-03-11 14:30:00 ~"],
        ),
        ("yesterday evening", &["yesterday evening = 2026-03-10 ~"]),
        ("2026-03-12 25:30", &["2026-03-12 = 2026-03-12"]),
        ("at 14:30", &[]),
    ]);
}

#[test]
fn relative_dates_are_counted_from_today() {
    check(&[
        ("today", &["today = 2026-03-11 ~"]),
        ("Yesterday's build", &["Yesterday = 2026-03-10 ~"]),
        ("do it tomorrow.", &["tomorrow = 2026-03-12 ~"]),
        (
            "the day after tomorrow",
            &["day after tomorrow = 2026-03-13 ~"],
        ),
        (
            "the day before yesterday",
            &["day before yesterday = 2026-03-09 ~"],
        ),
        ("tonight", &["tonight = 2026-03-11 ~"]),
        ("last night", &["last night = 2026-03-10 ~"]),
        ("this morning", &["this morning = 2026-03-11 ~"]),
        ("next Friday", &["next Friday = 2026-03-20 ~ or 2026-03-13"]),
        ("next Monday", &["next Monday = 2026-03-16 ~"]),
        ("last Friday", &["last Friday = 2026-03-06 ~"]),
        ("last Wednesday", &["last Wednesday = 2026-03-04 ~"]),
        ("this Friday", &["this Friday = 2026-03-13 ~"]),
        ("by Friday", &["Friday = 2026-03-13 ~"]),
        ("by Wednesday", &["Wednesday = 2026-03-11 ~"]),
        ("since Monday", &["Monday = 2026-03-09 ~"]),
        ("on Thursday", &["Thursday = 2026-03-12 ~ or 2026-03-05"]),
        ("Friday next week", &["Friday next week = 2026-03-20 ~"]),
        ("last week", &["last week = 2026-03-02..2026-03-08 Week ~"]),
        (
            "next month",
            &["next month = 2026-04-01..2026-04-30 Month ~"],
        ),
        (
            "this quarter",
            &["this quarter = 2026-01-01..2026-03-31 Quarter ~"],
        ),
        ("last year", &["last year = 2025-01-01..2025-12-31 Year ~"]),
        (
            "this weekend",
            &["this weekend = 2026-03-14..2026-03-15 Span ~"],
        ),
        ("in three days", &["in three days = 2026-03-14 ~"]),
        ("in 2 weeks", &["in 2 weeks = 2026-03-25 Week ~"]),
        ("two weeks ago", &["two weeks ago = 2026-02-25 Week ~"]),
        ("a month ago", &["a month ago = 2026-02-11 Month ~"]),
        ("3 days from now", &["3 days from now = 2026-03-14 ~"]),
        (
            "within a week",
            &["within a week = 2026-03-11..2026-03-18 Span ~"],
        ),
        (
            "the last 10 days",
            &["last 10 days = 2026-03-01..2026-03-11 Span ~"],
        ),
        ("end of the month", &["end of the month = 2026-03-31 ~"]),
        ("end of next week", &["end of next week = 2026-03-22 ~"]),
        ("by EOD", &["EOD = 2026-03-11 ~"]),
        (
            "start of next quarter",
            &["start of next quarter = 2026-04-01 ~"],
        ),
        ("heute Morgen", &["heute Morgen = 2026-03-11 ~"]),
        (
            "gestern und vorgestern",
            &["gestern = 2026-03-10 ~", "vorgestern = 2026-03-09 ~"],
        ),
        ("bis morgen", &["morgen = 2026-03-12 ~"]),
        ("übermorgen", &["übermorgen = 2026-03-13 ~"]),
        (
            "nächsten Freitag",
            &["nächsten Freitag = 2026-03-20 ~ or 2026-03-13"],
        ),
        ("kommenden Freitag", &["kommenden Freitag = 2026-03-13 ~"]),
        ("letzten Montag", &["letzten Montag = 2026-03-09 ~"]),
        (
            "nächste Woche",
            &["nächste Woche = 2026-03-16..2026-03-22 Week ~"],
        ),
        (
            "im letzten Monat",
            &["letzten Monat = 2026-02-01..2026-02-28 Month ~"],
        ),
        ("vor zwei Wochen", &["vor zwei Wochen = 2026-02-25 Week ~"]),
        ("vor 3 Tagen", &["vor 3 Tagen = 2026-03-08 ~"]),
        ("in einem Monat", &["in einem Monat = 2026-04-11 Month ~"]),
        ("Ende des Monats", &["Ende des Monats = 2026-03-31 ~"]),
        (
            "Ende nächster Woche",
            &["Ende nächster Woche = 2026-03-22 ~"],
        ),
        ("zum Monatsende", &["Monatsende = 2026-03-31 ~"]),
        ("bis Freitag", &["Freitag = 2026-03-13 ~"]),
        ("seit Dienstag", &["Dienstag = 2026-03-10 ~"]),
    ]);
}

#[test]
fn what_only_looks_like_a_date_is_none() {
    let texts = [
        "version 1.2.3",
        "v2026.3.12",
        "v12.3.2026",
        "version 12.3.2026",
        "1.2.26",
        "2026.03.12",
        "192.168.1.1",
        "10.0.2026.1",
        "a1b2c3d4-2026-03-12-aaaa",
        "CVE-2026-0312",
        "20260312",
        "1773187200",
        "#2026-03-12",
        "log-2026-03-12.txt",
        "2026-03-12.md",
        "logs/2026/03/12/a.log",
        "/2026/03/12/",
        "3/12",
        "1/2/3",
        "24/7/365",
        "16/32/64",
        "2026-13-01",
        "2026-02-30",
        "30 February 2026",
        "31/31/2026",
        "99/99/99",
        "12:30:45",
        "you may 2 files",
        "march 12 miles",
        "may",
        "In may be",
        "the second march",
        "today()",
        "date.today",
        "today_sales",
        "$today",
        "every Monday",
        "on Mondays",
        "guten Morgen",
        "am Morgen",
        "sun and moon",
        "sat down",
        "in 5 minutes",
        "took two weeks",
        "a few days ago",
        "soon",
        "next day",
        "next line",
        "last 3 lines",
        "this file",
        "in 2048 bytes",
        "2026",
        "in 2026",
        "port 2026-2030",
        "0x2026-03",
        "3.12.2",
        "python 3.12.26",
        "deadbeef2026",
        "2026-03-12-rc1",
        "SHA 2026031",
        "id 12-34-5678",
        "5-4-3",
        "Q1",
        "Q5 2026",
        "week 3",
        "end of file",
        "mid week",
        "do 3",
        "so 12",
        "May I",
        "end of line",
        "17.0.2 2021",
        "2026-W99",
        "April Fools",
    ];
    let cases: Vec<(&str, &[&str])> = texts.iter().map(|text| (*text, &[][..])).collect();
    check(&cases);
}
