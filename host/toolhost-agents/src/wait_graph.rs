//! The graph of instances that wait for each other.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use toolhost_runtime::lock;

use super::{AgentsError, InstanceId};

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

impl WaitGraph {
    /// Notes that `from` waits for `to`, until [`leave`](Self::leave). Refuses circles, and chains of more
    /// than `depth_max` requests.
    pub(super) fn enter(
        &self,
        from: &InstanceId,
        to: &InstanceId,
        depth_max: usize,
    ) -> Result<(), AgentsError> {
        let target = to.agent().to_owned();
        let mut graph = lock(&self.0);
        if let Some(path) = path(&graph.waits_for, to, from) {
            let circle = std::iter::once(from.clone()).chain(path).collect();
            return Err(AgentsError::Circular { target, circle });
        }
        let waiters = longest(&graph.waited_by, from, &mut HashMap::new());
        let below = longest(&graph.waits_for, to, &mut HashMap::new());
        if waiters + 1 + below > depth_max {
            return Err(AgentsError::ChainTooLong { target, depth_max });
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
    lengths: &mut HashMap<&'a InstanceId, usize>,
) -> usize {
    if let Some(length) = lengths.get(from) {
        return *length;
    }
    let next = edges.get(from).into_iter().flat_map(HashMap::keys);
    let length = next.map(|next| 1 + longest(edges, next, lengths)).max();
    *lengths.entry(from).or_insert(length.unwrap_or(0))
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

    /// Adds an edge; returns the error, if it is refused.
    fn enter(waits: &WaitGraph, from: &str, to: &str) -> Option<String> {
        let entered = waits.enter(&instance(from), &instance(to), 64);
        entered.err().map(|error| error.to_string())
    }

    #[test]
    fn refuses_every_circle_and_names_it() {
        let waits = WaitGraph::default();
        let circle = |target: &str, circle: &str| {
            let begin = format!("a request to agent '{target}' would wait for itself: ");
            Some(begin + circle)
        };
        assert_eq!(enter(&waits, "a", "a"), circle("a", "a[k] waits for a[k]"));
        assert_eq!(enter(&waits, "a", "b"), None);
        let two = "b[k] waits for a[k] waits for b[k]";
        assert_eq!(enter(&waits, "b", "a"), circle("a", two));
        assert_eq!(enter(&waits, "b", "c"), None);
        let three = "c[k] waits for a[k] waits for b[k] waits for c[k]";
        assert_eq!(enter(&waits, "c", "a"), circle("a", three));
        assert_eq!(enter(&waits, "a", "c"), None);
        assert_eq!(enter(&waits, "d", "a"), None);
        assert_eq!(waits.len(), 4);
    }

    #[test]
    fn another_key_is_another_instance() {
        let waits = WaitGraph::default();
        let (one, other) = (InstanceId::new("a", "1"), InstanceId::new("a", "2"));
        waits.enter(&one, &other, 64).unwrap();
        assert!(waits.enter(&other, &one, 64).is_err());
    }

    #[test]
    fn an_edge_lasts_as_long_as_its_last_request() {
        let waits = WaitGraph::default();
        for _ in 0..2 {
            assert_eq!(enter(&waits, "a", "b"), None);
        }
        waits.leave(&instance("a"), &instance("b"));
        assert!(enter(&waits, "b", "a").is_some());
        waits.leave(&instance("a"), &instance("b"));
        assert_eq!(enter(&waits, "b", "a"), None);
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
            assert_eq!(enter(&waits, &name(n), &name(n + 1)), None, "{n}");
        }
        // At the end, at the beginning, and a shortcut in the middle, which makes no chain longer.
        let too_long = |target: &str| {
            let text = "would make a chain of more than 64 waiting agents";
            Some(format!("a request to agent '{target}' {text}"))
        };
        assert_eq!(enter(&waits, &name(64), "z"), too_long("z"));
        assert_eq!(enter(&waits, "z", &name(0)), too_long("a0"));
        assert_eq!(enter(&waits, &name(3), &name(9)), None);
        assert_eq!(enter(&waits, "z", &name(1)), None);
    }
}
