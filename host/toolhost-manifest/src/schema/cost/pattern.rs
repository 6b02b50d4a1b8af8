//! What regular expressions cost, measured on the automaton they are compiled to.

use regex_automata::nfa::thompson::NFA;

use crate::schema::error::SchemaError;
use crate::schema::limits::{PATTERN_MAX_BYTES, PATTERNS_MAX_BYTES};

/// What a pattern costs however small it is, in bytes.
const PATTERN_MIN_BYTES: usize = 4096;

/// What a state takes at least, in bytes.
const STATE_BYTES: usize = 24;

/// How large the patterns of the schemas that are loaded together may still become: a bundle's, or
/// those of one extension's tool.
#[derive(Debug)]
pub struct PatternBudget {
    left: usize,
}

impl Default for PatternBudget {
    fn default() -> Self {
        Self {
            left: PATTERNS_MAX_BYTES,
        }
    }
}

impl PatternBudget {
    /// Counts the states of a pattern: matching visits each of them for each byte of a text, at worst.
    /// One that cannot be compiled is refused later, where its place is known.
    ///
    /// # Errors
    /// [`SchemaError::PatternsTooLarge`] where the budget is used up; what comes later is not even
    /// compiled.
    pub(super) fn measure(&mut self, pattern: &str) -> Result<u64, SchemaError> {
        let size = if self.left == 0 {
            0
        } else {
            compiled_bytes(pattern)
        };
        let taken = size.max(PATTERN_MIN_BYTES);
        if taken > self.left {
            self.left = 0;
            return Err(SchemaError::PatternsTooLarge);
        }
        self.left -= taken;
        Ok(size.div_ceil(STATE_BYTES) as u64)
    }
}

/// The size of a pattern as it is compiled; the largest where it cannot be.
fn compiled_bytes(pattern: &str) -> usize {
    let config = NFA::config().nfa_size_limit(Some(PATTERN_MAX_BYTES));
    let translated = jsonschema_regex::to_rust_regex(pattern).ok();
    let compiled = translated.and_then(|own| NFA::compiler().configure(config).build(&own).ok());
    compiled.map_or(PATTERN_MAX_BYTES, |nfa| nfa.memory_usage())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_counts_its_states_and_all_of_them_share_one_budget() {
        let mut budget = PatternBudget::default();
        let small = budget.measure("^[a-z]{1,64}$").unwrap();
        assert!((64..300).contains(&small), "{small}");
        let large = budget.measure("[a-z]{1000}").unwrap();
        assert!((1_000..3_000).contains(&large), "{large}");
        let most = (PATTERN_MAX_BYTES / STATE_BYTES) as u64;
        for refused in ["(", "(a{1000}){1000}"] {
            assert!(budget.measure(refused).unwrap() >= most);
        }
        let counted = (0..).take_while(|_| budget.measure("a").is_ok()).count();
        assert!((3_900..4_096).contains(&counted), "{counted}");
        assert!(budget.measure("a").is_err());
    }
}
