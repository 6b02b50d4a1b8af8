//! Runs a case that searches the tools of an agent.

use toolhost::Agent;

use crate::case::{Case, NOTHING, SearchCase};
use crate::mismatch::Mismatch;

/// Most hits that are looked at for where a tool is that is not among the first.
const HITS_MAX: usize = 50;

/// Most names of hits in a message.
const NAMES_MAX: usize = 5;

/// Searches the tools of an agent, and returns how the hits differ from what the case expects.
pub(crate) fn judge(case: &Case, search: &SearchCase, agent: &Agent) -> Option<Mismatch> {
    let catalog = agent.catalog();
    let hits = catalog.search(&search.query, HITS_MAX);
    let names: Vec<&str> = hits.iter().map(|hit| hit.item.name.as_str()).collect();
    let first: Vec<&str> = names.iter().take(NAMES_MAX).copied().collect();
    let first = if first.is_empty() {
        NOTHING.to_owned()
    } else {
        first.join(", ")
    };
    if case.tool == NOTHING {
        return (!names.is_empty()).then(|| Mismatch::new("search", NOTHING, &first));
    }
    let position = names.iter().position(|name| *name == case.tool);
    let got = match position {
        Some(position) if position < search.within => return None,
        Some(position) => format!("{first} (it is at {})", position + 1),
        None => first,
    };
    let expected = match search.within {
        1 => format!("{} first", case.tool),
        within => format!("{} among the first {within}", case.tool),
    };
    Some(Mismatch::new("search", &expected, &got))
}
