//! A substitution outside of a script, as in `tar --transform`.

use super::substitution::{Substitution, parts};
use crate::commands::on_text::pattern::{Pattern, Reading, Syntax};

pub(in crate::commands) struct Replacement {
    pattern: Pattern,
    substitution: Substitution,
}

impl Replacement {
    /// Reads the parts of `s/PATTERN/TEXT/FLAGS`. The flags are `g`, `i`, `x` and a number.
    ///
    /// # Errors
    /// The pattern or a flag is wrong.
    pub(in crate::commands) fn new(pattern: &str, text: &str, flags: &str) -> Result<Self, String> {
        let mut reading = Reading::new(Syntax::Basic, true);
        reading.escapes = true;
        let mut substitution = Substitution {
            replacement: parts(text),
            ..Substitution::default()
        };
        let mut number = String::new();
        for flag in flags.chars() {
            match flag {
                'g' => substitution.all = true,
                'i' => reading.ignore_case = true,
                'x' => reading.syntax = Syntax::Extended,
                '0'..='9' => number.push(flag),
                _ => return Err(format!("Unknown flag in transform expression: {flag}")),
            }
        }
        if !number.is_empty() {
            substitution.nth = number.parse().map_err(|_| "Invalid number in transform")?;
        }
        Ok(Self {
            pattern: Pattern::new(vec![pattern.to_owned()], reading)?,
            substitution,
        })
    }

    /// Returns what a text becomes, or `None` if nothing is replaced.
    ///
    /// # Errors
    /// The pattern is too large.
    pub(in crate::commands) fn apply(&self, text: &[u8]) -> Result<Option<Vec<u8>>, String> {
        self.substitution.apply(&self.pattern, text)
    }
}
