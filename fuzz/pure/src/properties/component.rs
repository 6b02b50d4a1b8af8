//! The bytes of a component: counted and classified before compiling.

use std::fmt::Debug;
use std::time::Duration;

use wasmparser::{Parser, Validator, WasmFeatures};

use super::cost::within;
use super::display;
use crate::PrepareError;
use crate::component::inspect::{check_function_cost, read};
use crate::component::limits::CompileLimits;

/// Longest time to read a component of the fuzzed size.
const READING_MAX: Duration = Duration::from_secs(2);

/// Longest compile time that a component of the largest size is allowed.
const COMPILING_MAX: Duration = Duration::from_secs(60 + 64 * 10);

/// Longest message, in bytes.
const MESSAGE_MAX: usize = 8 << 10;

/// Longest name of an import or an export, in bytes.
const NAME_MAX: usize = 1 << 10;

/// Low limits, which small components exceed.
const FEW: CompileLimits = CompileLimits {
    bytes: 1 << 16,
    functions: 4,
    function_bytes: 64,
    types: 8,
    modules: 3,
    globals: 1,
    nesting: 2,
    definitions: 24,
    adapters: 2,
    instance_bytes: 256,
    elements: 8,
    segments: 2,
    initialiser_bytes: 16,
    local_blocks: 16,
    nested_loops: 2,
    time: Duration::from_secs(1),
    time_per_mib: Duration::ZERO,
};

/// Reads a component and checks the properties.
pub fn hold(bytes: &[u8]) {
    let limits = CompileLimits::default();
    let shape = within(READING_MAX, "reading", || read(bytes, &limits));
    let few = read(bytes, &FEW);
    match shape {
        Ok(shape) => {
            assert!(Parser::is_component(bytes));
            if let Err(error) = shape.check() {
                is_told(&error);
            }
            for name in shape.imports.iter().chain(&shape.exports) {
                display::is_one_line(name, NAME_MAX);
            }
            is_no_more(few, &shape);
            let time = limits.time_for(bytes.len());
            assert!((limits.time..=COMPILING_MAX).contains(&time), "{time:?}");
            has_weight(bytes, &limits);
        }
        Err(error) => {
            is_told(&error);
            assert!(few.is_err(), "more is allowed where less is: {error}");
            is_malformed(bytes, &error);
        }
    }
}

/// Function bodies have the same counts alone as in their component.
fn has_weight(bytes: &[u8], limits: &CompileLimits) {
    let few = check_function_cost(bytes, &FEW);
    match within(READING_MAX, "weighing", || {
        check_function_cost(bytes, limits)
    }) {
        Ok(()) => is_no_more(few, &()),
        Err(error) => {
            is_told(&error);
            assert!(few.is_err(), "more is allowed where less is: {error}");
            is_malformed(bytes, &error);
        }
    }
}

/// Under lower limits a component has the same facts, or is too large.
fn is_no_more<T: PartialEq + Debug>(few: Result<T, PrepareError>, read: &T) {
    match few {
        Ok(few) => assert_eq!(&few, read, "limits change what is read"),
        Err(error) => {
            is_told(&error);
            assert!(matches!(error, PrepareError::TooLarge { .. }), "{error}");
        }
    }
}

fn is_malformed(bytes: &[u8], error: &PrepareError) {
    let malformed = matches!(error, PrepareError::NotAComponent(_));
    assert!(
        !malformed || !is_valid(bytes),
        "a valid component is refused: {error}"
    );
}

fn is_valid(bytes: &[u8]) -> bool {
    let mut validator = Validator::new_with_features(WasmFeatures::default());
    Parser::is_component(bytes) && validator.validate_all(bytes).is_ok()
}

fn is_told(error: &PrepareError) {
    display::is_one_line(&error.to_string(), MESSAGE_MAX);
    if let PrepareError::TooLarge { found, limit, .. } = error {
        assert!(found > limit, "{error}");
    }
}
