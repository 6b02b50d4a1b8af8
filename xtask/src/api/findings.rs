//! What is wrong with a listing, and what to do about it.

use super::comparison::Comparison;
use super::listing::Listing;
use super::version::{is_compatible, next_breaking};
use crate::published::Published;

/// Returns a finding if the file of a crate does not list its public API.
pub(super) fn outdated(
    published: &Published,
    recorded: &Listing<'_>,
    current: &Listing<'_>,
) -> Option<String> {
    if recorded == current {
        return None;
    }
    let name = published.name;
    let (was, is) = (recorded.version(), current.version());
    let version = if was == is {
        String::new()
    } else {
        format!("  version {was} is now {is}\n")
    };
    let changes = Comparison::of(recorded, current);
    Some(format!(
        "The public API of {name} is not that of docs/api/{name}.txt:\n{version}{changes}\
         If this is intended: `cargo xtask api --write`, and commit the file."
    ))
}

/// Returns a finding if the API breaks users of the released version, and the version is one to which cargo
/// updates them.
pub(super) fn unannounced(
    published: &Published,
    released: &Listing<'_>,
    current: &Listing<'_>,
) -> Option<String> {
    let changes = Comparison::of(released, current);
    let (was, is) = (released.version(), current.version());
    if changes.breaking.is_empty() || !is_compatible(was, is) {
        return None;
    }
    Some(format!(
        "{} {is} breaks users of the released {was}:\n{changes}\
         Keep the old items, or set the version {} in {}. \
         If {was} was never published: `cargo xtask api --release`.",
        published.name,
        next_breaking(was),
        published.manifest(),
    ))
}

#[cfg(test)]
mod tests {
    use super::{Listing, outdated, unannounced};
    use crate::published::{GUEST, HOST};

    const ONE: &str = "# a 0.1.0\npub fn a::f()\n";

    #[test]
    fn a_listing_that_differs_names_the_change_and_the_command_that_writes_it() {
        let [first, ..] = &HOST;
        let find = |recorded, current| {
            outdated(first, &Listing::parse(recorded), &Listing::parse(current))
        };
        assert_eq!(find(ONE, ONE), None);
        let missing = find("", ONE).unwrap();
        for part in [
            &format!("docs/api/{}.txt", first.name),
            "added pub fn a::f()",
            "cargo xtask api --write",
        ] {
            assert!(missing.contains(part), "{missing}");
        }
        let version = find(ONE, "# a 0.2.0\npub fn a::f()\n").unwrap();
        assert!(version.contains("version 0.1.0 is now 0.2.0"), "{version}");
    }

    #[test]
    fn a_breaking_change_needs_a_version_that_cargo_does_not_update_to() {
        let find = |current| unannounced(&GUEST, &Listing::parse(ONE), &Listing::parse(current));
        assert_eq!(find("# a 0.1.1\npub fn a::f()\npub fn a::g()\n"), None);
        assert_eq!(find("# a 0.2.0\n"), None);
        let broken = find("# a 0.1.1\npub fn a::g()\n").unwrap();
        for part in [
            "removed pub fn a::f()",
            "0.2.0",
            "guest-sdk/rust/Cargo.toml",
        ] {
            assert!(broken.contains(part), "{broken}");
        }
    }
}
