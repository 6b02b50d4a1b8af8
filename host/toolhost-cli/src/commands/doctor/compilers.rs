//! The compilers that `toolhost build` runs.

use super::finding::Finding;
use crate::toolchains::probe::{self, Toolchain};

const AREA: &str = "compilers";

/// Asks all of them for their versions at the same time.
pub(super) async fn examine() -> Vec<Finding> {
    let (rust, typescript, python) =
        tokio::join!(probe::rust(), probe::typescript(), probe::python());
    [
        (rust, "tools in Rust"),
        (typescript, "tools in TypeScript and JavaScript"),
        (python, "tools in Python"),
    ]
    .into_iter()
    .flat_map(|(programs, needed_for)| {
        let finding = move |program| finding(program).needed_for(needed_for);
        programs.into_iter().map(finding)
    })
    .collect()
}

/// What is missing is a warning: not everybody uses each language.
fn finding(program: Toolchain) -> Finding {
    let finding = Finding::ok(AREA, program.name, program.version);
    match program.next {
        Some(next) => finding.warning(next),
        None => finding,
    }
}
