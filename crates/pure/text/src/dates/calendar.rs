//! Calendar arithmetic with days, weeks, months and quarters. All functions return `None` beyond
//! the range of the calendar.

use super::Days;
use super::names::Unit;
use jiff::Span;
use jiff::civil::{Date, Weekday};

/// Day `count` days away.
pub(super) fn add_days(day: Date, count: i32) -> Option<Date> {
    day.checked_add(Span::new().try_days(count).ok()?).ok()
}

/// Day `count` units away; the last day of a month that is too short.
pub(super) fn add(day: Date, count: i32, unit: Unit) -> Option<Date> {
    match unit {
        Unit::Day => add_days(day, count),
        Unit::Week | Unit::Weekend => add_days(day, count.checked_mul(7)?),
        Unit::Month => add_months(day, count),
        Unit::Quarter => add_months(day, count.checked_mul(3)?),
        Unit::Year => add_months(day, count.checked_mul(12)?),
    }
}

fn add_months(day: Date, count: i32) -> Option<Date> {
    day.checked_add(Span::new().try_months(count).ok()?).ok()
}

/// First and last day of the unit that contains the day.
pub(super) fn around(day: Date, unit: Unit) -> Option<Days> {
    let monday = add_days(day, -i32::from(day.weekday().to_monday_zero_offset()))?;
    let (first, last) = match unit {
        Unit::Day => (day, day),
        Unit::Week => (monday, add_days(monday, 6)?),
        Unit::Weekend => (add_days(monday, 5)?, add_days(monday, 6)?),
        Unit::Month => (day.first_of_month(), day.last_of_month()),
        Unit::Quarter => {
            let month = (day.month() - 1) / 3 * 3 + 1;
            let first = Date::new(day.year(), month, 1).ok()?;
            (first, add_months(first, 2)?.last_of_month())
        }
        Unit::Year => (day.first_of_year(), day.last_of_year()),
    };
    Some(Days { first, last })
}

/// Days of a month.
pub(super) fn month(year: i16, month: i8) -> Option<Days> {
    around(Date::new(year, month, 1).ok()?, Unit::Month)
}

/// Weekday in the week `weeks` weeks away.
pub(super) fn in_week(today: Date, weeks: i32, weekday: Weekday) -> Option<Date> {
    let monday = around(add(today, weeks, Unit::Week)?, Unit::Week)?.first;
    add_days(monday, i32::from(weekday.to_monday_zero_offset()))
}

/// First such weekday after the day, the day itself excluded.
pub(super) fn after(day: Date, weekday: Weekday) -> Option<Date> {
    add_days(day, i32::from(weekday.since(day.weekday().next())) + 1)
}

/// Last such weekday before the day, the day itself excluded.
pub(super) fn before(day: Date, weekday: Weekday) -> Option<Date> {
    add_days(
        after(day, weekday)?,
        if day.weekday() == weekday { -14 } else { -7 },
    )
}

/// Date with this month and day that is nearest to today, among last, this and next year.
pub(super) fn nearest(today: Date, month: i8, day: i8) -> Option<Date> {
    let distance = |date: &Date| (*date - today).get_days().abs();
    (-1..=1)
        .filter_map(|years| Date::new(today.year().checked_add(years)?, month, day).ok())
        .min_by_key(distance)
}
