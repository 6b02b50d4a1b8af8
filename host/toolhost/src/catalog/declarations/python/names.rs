//! Names of types, and those that are taken.

use std::collections::{HashMap, HashSet};

use super::super::ToolTypes;
use super::syntax::BUILTINS;

/// Names of the module's that no type may have.
pub(super) const RESERVED: [&str; 10] = [
    "Any",
    "Awaitable",
    "Callable",
    "Literal",
    "Never",
    "NotRequired",
    "Protocol",
    "Tools",
    "TypeAlias",
    "TypedDict",
];

/// Returns the types that mean something else in a class with these members.
pub(super) fn shadowed<'n>(members: impl Iterator<Item = &'n str>) -> Vec<&'static str> {
    let members: HashSet<&str> = members.collect();
    BUILTINS
        .into_iter()
        .filter(|name| members.contains(name))
        .collect()
}

/// The names of the types of a module.
pub(super) struct Names {
    used: HashSet<String>,
    /// By a name, the number of the last one that is equal but for its number.
    numbers: HashMap<String, usize>,
}

impl Names {
    pub(super) fn new(tools: &[ToolTypes<'_>]) -> Self {
        let definitions = tools.iter().flat_map(|tool| &tool.definitions);
        let definitions = definitions.map(|definition| definition.name.clone());
        Self {
            used: definitions.chain(RESERVED.map(str::to_owned)).collect(),
            numbers: HashMap::new(),
        }
    }

    /// Returns the name, perhaps with a number.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let number = self.numbers.entry(name.to_owned()).or_insert(0);
        loop {
            *number += 1;
            let numbered = if *number == 1 {
                name.to_owned()
            } else {
                format!("{name}{number}")
            };
            if self.used.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}
