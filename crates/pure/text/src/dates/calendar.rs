//! Arithmetic with days, weeks, months and quarters.

use super::Days;
use super::names::Unit;
use jiff::Span;
use jiff::civil::{Date, Weekday};

/// A day so many days away.
pub(super) fn add_days(day: Date, count: i32) -> Option<Date> {
    day.checked_add(Span::new().try_days(count).ok()?).ok()
}

/// A day so many units away; the last day of a month where it has too few.
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

/// The first and last day of the unit that has the day in it.
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

/// A month of a year.
pub(super) fn month(year: i16, month: i8) -> Option<Days> {
    around(Date::new(year, month, 1).ok()?, Unit::Month)
}

/// A weekday in the week that is so many weeks away.
pub(super) fn in_week(today: Date, weeks: i32, weekday: Weekday) -> Option<Date> {
    let monday = around(add(today, weeks, Unit::Week)?, Unit::Week)?.first;
    add_days(monday, i32::from(weekday.to_monday_zero_offset()))
}

/// The first such weekday after the day.
pub(super) fn after(day: Date, weekday: Weekday) -> Option<Date> {
    add_days(day, i32::from(weekday.since(day.weekday().next())) + 1)
}

/// The last such weekday before the day.
pub(super) fn before(day: Date, weekday: Weekday) -> Option<Date> {
    add_days(
        after(day, weekday)?,
        if day.weekday() == weekday { -14 } else { -7 },
    )
}

/// Of the same day in three years the one nearest to today.
pub(super) fn nearest(today: Date, month: i8, day: i8) -> Option<Date> {
    let distance = |date: &Date| (*date - today).get_days().abs();
    (-1..=1)
        .filter_map(|years| Date::new(today.year().checked_add(years)?, month, day).ok())
        .min_by_key(distance)
}
