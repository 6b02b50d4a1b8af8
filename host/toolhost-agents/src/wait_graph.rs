//! The graph of instances that wait for each other.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use super::InstanceId;
use super::sync::lock;

/// The instances that wait for an answer, and for whom. It has no circle, and no chain that is too long.
#[derive(Debug, Default)]
pub(super) struct WaitGraph(Mutex<Graph>);

type Edges = HashMap<InstanceId, HashMap<InstanceId, usize>>;

#[derive(Debug, Default)]
struct Graph {
    /// Waiting instance → awaited instance → number of requests.
    waits_for: Edges,
    /// The same edges, reversed.
    waited_by: Edges,
}

/// Why an instance may not wait for another.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WaitRefused {
    /// They would wait in this circle, which begins and ends with the requester.
    Circle(Vec<InstanceId>),
    /// The chain would be too long.
    TooLong,
}

impl WaitGraph {
    /// Notes that `from` waits for `to`, until [`leave`](Self::leave).
    pub(super) fn enter(
        &self,
        from: &InstanceId,
        to: &InstanceId,
        depth_max: usize,
    ) -> Result<(), WaitRefused> {
        let mut graph = lock(&self.0);
        if let Some(path) = path(&graph.waits_for, to, from) {
            let circle = std::iter::once(from.clone()).chain(path).collect();
            return Err(WaitRefused::Circle(circle));
        }
        let above = longest(&graph.waited_by, from, &mut HashMap::new());
        let below = longest(&graph.waits_for, to, &mut HashMap::new());
        if above + 1 + below > depth_max {
            return Err(WaitRefused::TooLong);
        }
        add(&mut graph.waits_for, from, to);
        add(&mut graph.waited_by, to, from);
        Ok(())
    }

    /// Notes that one request of `from` to `to` has ended.
    pub(super) fn leave(&self, from: &InstanceId, to: &InstanceId) {
        let mut graph = lock(&self.0);
        remove(&mut graph.waits_for, from, to);
        remove(&mut graph.waited_by, to, from);
    }

    /// Returns the number of edges.
    pub(super) fn len(&self) -> usize {
        let graph = lock(&self.0);
        graph.waits_for.values().map(HashMap::len).sum()
    }
}

/// Finds a path from one instance to another, both included.
fn path(edges: &Edges, from: &InstanceId, to: &InstanceId) -> Option<Vec<InstanceId>> {
    let mut seen = HashSet::from([from]);
    let mut open = vec![vec![from]];
    while let Some(path) = open.pop() {
        let here = *path.last()?;
        if here == to {
            return Some(path.into_iter().cloned().collect());
        }
        for next in edges.get(here).into_iter().flat_map(HashMap::keys) {
            if seen.insert(next) {
                open.push(path.iter().copied().chain([next]).collect());
            }
        }
    }
    None
}

/// Returns the length of the longest chain from an instance. The recursion is as deep as the chain, whose
/// length is limited.
fn longest<'a>(
    edges: &'a Edges,
    from: &'a InstanceId,
    known: &mut HashMap<&'a InstanceId, usize>,
) -> usize {
    if let Some(length) = known.get(from) {
        return *length;
    }
    let next = edges.get(from).into_iter().flat_map(HashMap::keys);
    let length = next.map(|next| 1 + longest(edges, next, known)).max();
    *known.entry(from).or_insert(length.unwrap_or(0))
}

fn add(edges: &mut Edges, from: &InstanceId, to: &InstanceId) {
    let targets = edges.entry(from.clone()).or_default();
    *targets.entry(to.clone()).or_default() += 1;
}

fn remove(edges: &mut Edges, from: &InstanceId, to: &InstanceId) {
    let Some(targets) = edges.get_mut(from) else {
        return;
    };
    if let Some(count) = targets.get_mut(to) {
        *count -= 1;
        if *count == 0 {
            targets.remove(to);
        }
    }
    if targets.is_empty() {
        edges.remove(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(name: &str) -> InstanceId {
        InstanceId::new(name, "k")
    }

    fn enter(waits: &WaitGraph, from: &str, to: &str) -> Result<(), WaitRefused> {
        waits.enter(&instance(from), &instance(to), 64)
    }

    #[test]
    fn refuses_every_circle_and_names_it() {
        let waits = WaitGraph::default();
        let circle = |names: &[&str]| {
            let names = names.iter().map(|name| instance(name));
            Err(WaitRefused::Circle(names.collect()))
        };
        assert_eq!(enter(&waits, "a", "a"), circle(&["a", "a"]));
        assert_eq!(enter(&waits, "a", "b"), Ok(()));
        assert_eq!(enter(&waits, "b", "a"), circle(&["b", "a", "b"]));
        assert_eq!(enter(&waits, "b", "c"), Ok(()));
        assert_eq!(enter(&waits, "c", "a"), circle(&["c", "a", "b", "c"]));
        assert_eq!(enter(&waits, "a", "c"), Ok(()));
        assert_eq!(enter(&waits, "d", "a"), Ok(()));
        assert_eq!(waits.len(), 4);
    }

    #[test]
    fn another_key_is_another_instance() {
        let waits = WaitGraph::default();
        let (one, other) = (InstanceId::new("a", "1"), InstanceId::new("a", "2"));
        assert_eq!(waits.enter(&one, &other, 64), Ok(()));
        assert!(waits.enter(&other, &one, 64).is_err());
    }

    #[test]
    fn an_edge_lasts_as_long_as_its_last_request() {
        let waits = WaitGraph::default();
        for _ in 0..2 {
            assert_eq!(enter(&waits, "a", "b"), Ok(()));
        }
        waits.leave(&instance("a"), &instance("b"));
        assert!(enter(&waits, "b", "a").is_err());
        waits.leave(&instance("a"), &instance("b"));
        assert_eq!(enter(&waits, "b", "a"), Ok(()));
        waits.leave(&instance("b"), &instance("a"));
        assert_eq!(waits.len(), 0);
        let graph = lock(&waits.0);
        assert!(graph.waits_for.is_empty() && graph.waited_by.is_empty());
    }

    #[test]
    fn a_chain_is_as_long_as_its_longest_path() {
        let waits = WaitGraph::default();
        let name = |n: usize| format!("a{n}");
        for n in 0..64 {
            assert_eq!(enter(&waits, &name(n), &name(n + 1)), Ok(()), "{n}");
        }
        // At the end, at the beginning, and a shortcut in the middle, which makes no chain longer.
        assert_eq!(enter(&waits, &name(64), "z"), Err(WaitRefused::TooLong));
        assert_eq!(enter(&waits, "z", &name(0)), Err(WaitRefused::TooLong));
        assert_eq!(enter(&waits, &name(3), &name(9)), Ok(()));
        assert_eq!(enter(&waits, "z", &name(1)), Ok(()));
    }
}
