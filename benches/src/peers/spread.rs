//! Numbers and their spread, as texts.

use crate::measure::median;

/// A median and the quartiles around it.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Spread {
    /// `values` holds at least one.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let quartile = |quarters: usize| values[(values.len() - 1) * quarters / 4];
        Self {
            low: quartile(1),
            high: quartile(3),
            median: median(values.clone()),
        }
    }

    /// Each value of one list divided by that of another.
    pub(super) fn of_ratios(values: &[f64], by: &[f64]) -> Self {
        Self::of(
            values
                .iter()
                .zip(by)
                .map(|(value, by)| value / by)
                .collect(),
        )
    }

    /// Returns `2.1 × (2.0–2.3)`.
    pub(super) fn ratio(self) -> String {
        let Self { median, low, high } = self;
        format!("{} × ({}–{})", digits(median), digits(low), digits(high))
    }
}

/// Returns a number with two or three significant digits.
pub(super) fn digits(number: f64) -> String {
    match number {
        small if small < 0.095 => format!("{small:.3}"),
        small if small < 9.95 => format!("{small:.2}"),
        middle if middle < 99.5 => format!("{middle:.1}"),
        large => grouped(large),
    }
}

/// Returns a duration of so many microseconds.
pub(super) fn micros(micros: f64) -> String {
    match micros {
        small if small < 999.5 => format!("{small:.0} µs"),
        middle if middle < 99_950.0 => format!("{:.1} ms", middle / 1e3),
        large => format!("{} ms", grouped(large / 1e3)),
    }
}

/// Returns a whole number with commas between thousands.
pub(super) fn grouped(number: f64) -> String {
    let text = format!("{number:.0}");
    let mut grouped = String::new();
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
