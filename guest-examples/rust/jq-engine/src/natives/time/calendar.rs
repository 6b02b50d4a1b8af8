//! A date and time, in the units of C.

use crate::value::Val;

/// A date and time, in the units of C's `struct tm`, but for the year.
#[derive(Clone, Copy, Default)]
pub(super) struct Time {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) weekday: i64,
    pub(super) year_day: i64,
}

pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) fn short(name: &str) -> &str {
    name.get(..3).unwrap_or(name)
}

/// Days from 1970-01-01; months from 1. Computed in years that begin in March.
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

impl Time {
    /// # Errors
    /// The year does not fit.
    pub(super) fn from_seconds(seconds: i64) -> Option<Self> {
        // Years beyond these have more than ten digits.
        if seconds.unsigned_abs() > 60_000_000_000_000_000 {
            return None;
        }
        let (day_number, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let shifted = day_number + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Some(Self {
            year,
            month: month - 1,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: (day_number + 4).rem_euclid(7),
            year_day: day_number - days(year, 1, 1),
        })
    }

    pub(super) fn from_array(items: &[Val]) -> Option<Self> {
        let field = |at: usize| Some(items.get(at)?.number()?.trunc() as i64);
        Some(Self {
            year: field(0)?,
            month: field(1)?,
            day: field(2)?,
            hour: field(3)?,
            minute: field(4)?,
            second: field(5)?,
            weekday: field(6)?,
            year_day: field(7)?,
        })
    }

    /// Seconds since 1970; fields beyond their ranges carry over.
    pub(super) fn seconds(&self) -> i64 {
        let year = self
            .year
            .saturating_add(self.month.div_euclid(12))
            .clamp(-1 << 40, 1 << 40);
        let month = self.month.rem_euclid(12) + 1;
        let day_number = days(year, month, 1).saturating_add(self.day - 1);
        let minutes = day_number
            .saturating_mul(1440)
            .saturating_add(self.hour.saturating_mul(60));
        minutes
            .saturating_add(self.minute)
            .saturating_mul(60)
            .saturating_add(self.second)
    }

    pub(super) fn array(&self, second: f64) -> Vec<Val> {
        let number = |value: i64| Val::Num(value as f64);
        vec![
            number(self.year),
            number(self.month),
            number(self.day),
            number(self.hour),
            number(self.minute),
            Val::Num(second),
            number(self.weekday),
            number(self.year_day),
        ]
    }

    /// Sets the weekday and the day of the year from the date.
    pub(super) fn complete(&mut self) {
        let number = days(self.year, self.month + 1, self.day);
        self.weekday = (number + 4).rem_euclid(7);
        self.year_day = number - days(self.year, 1, 1);
    }
}
