//! The cost of regular expressions, measured by the size of their automata.

use regex_automata::nfa::thompson::NFA;

use crate::error::SchemaError;

/// Maximum size of a compiled pattern, in bytes: eight classes of letters of all languages. Compiling
/// takes about 10 ms for each MiB.
pub(in super::super) const PATTERN_MAX_BYTES: usize = 256 * 1024;

/// Maximum size of all compiled patterns of a bundle, in bytes. While the bundle is loaded, they take
/// about three times as much memory.
const PATTERNS_MAX_BYTES: usize = 16 << 20;

/// Minimum cost of a pattern, in bytes.
const PATTERN_MIN_BYTES: usize = 4096;

/// Minimum size of a state, in bytes.
const STATE_BYTES: usize = 24;

/// The remaining size of compiled patterns for schemas that are loaded together: those of a bundle, or of
/// a tool of an extension.
#[derive(Debug, Clone, Copy)]
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
    /// Counts the states of a pattern. In the worst case, matching visits each of them for each byte of a
    /// text. A pattern that cannot be compiled is refused later, when its place is known.
    ///
    /// # Errors
    /// [`SchemaError::Limit`] if the budget is used up. Later patterns are not compiled.
    pub(super) fn measure(&mut self, pattern: &str) -> Result<u64, SchemaError> {
        let size = match self.left {
            0 => 0,
            _ => compiled_bytes(pattern),
        };
        let bytes = size.max(PATTERN_MIN_BYTES);
        if bytes > self.left {
            self.left = 0;
            return Err(SchemaError::Limit(format!(
                "the patterns up to here take more than {PATTERNS_MAX_BYTES} bytes, all schemas together"
            )));
        }
        self.left -= bytes;
        Ok(size.div_ceil(STATE_BYTES) as u64)
    }
}

/// Returns the size of a compiled pattern; the maximum if it cannot be compiled.
fn compiled_bytes(pattern: &str) -> usize {
    let config = NFA::config().nfa_size_limit(Some(PATTERN_MAX_BYTES));
    let translated = jsonschema_regex::to_rust_regex(pattern).ok();
    let compiled =
        translated.and_then(|source| NFA::compiler().configure(config).build(&source).ok());
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
