//! Which versions cargo takes for compatible.

/// Returns whether cargo updates users of one version to the other.
pub(super) fn is_compatible(released: &str, current: &str) -> bool {
    significant(released) == significant(current)
}

/// Returns the first version after this one that may break its users.
pub(super) fn next_breaking(released: &str) -> String {
    match numbers(released) {
        [0, 0, patch] => format!("0.0.{}", patch.saturating_add(1)),
        [0, minor, _] => format!("0.{}.0", minor.saturating_add(1)),
        [major, ..] => format!("{}.0.0", major.saturating_add(1)),
    }
}

/// Returns the numbers up to the first that is not 0: they differ in versions that may break each other.
fn significant(version: &str) -> [u64; 3] {
    match numbers(version) {
        [0, 0, patch] => [0, 0, patch],
        [0, minor, _] => [0, minor, 0],
        [major, ..] => [major, 0, 0],
    }
}

fn numbers(version: &str) -> [u64; 3] {
    let mut numbers = version
        .split(['.', '-', '+'])
        .map(|number| number.parse().unwrap_or_default());
    [(); 3].map(|()| numbers.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{is_compatible, next_breaking};

    #[test]
    fn versions_are_compatible_as_cargo_defines_it() {
        for (released, current, compatible) in [
            ("0.1.0", "0.1.0", true),
            ("0.1.0", "0.1.7", true),
            ("0.1.0", "0.2.0", false),
            ("0.0.1", "0.0.2", false),
            ("1.2.0", "1.9.1", true),
            ("1.2.0", "2.0.0", false),
        ] {
            assert_eq!(
                is_compatible(released, current),
                compatible,
                "{released} {current}"
            );
        }
    }

    #[test]
    fn the_next_version_that_may_break_users_is_not_compatible() {
        for (released, next) in [("0.1.3", "0.2.0"), ("0.0.3", "0.0.4"), ("1.4.2", "2.0.0")] {
            assert_eq!(next_breaking(released), next);
            assert!(!is_compatible(released, next));
        }
    }
}
