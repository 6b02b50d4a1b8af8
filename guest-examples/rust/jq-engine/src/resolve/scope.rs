//! The names at a place of a program.

#[derive(Clone, Debug)]
pub(super) enum Name {
    Variable(String),
    Filter(String),
    Label(String),
    /// Takes no place among the bindings: name, number of parameters, number of the function.
    Function(String, usize, usize),
}

#[derive(Clone, Default)]
pub(super) struct Scope {
    /// Each with the number of bindings before it.
    pub(super) names: Vec<(Name, usize)>,
    pub(super) bindings: usize,
}

impl Scope {
    pub(super) fn bind(&mut self, name: Name) {
        let takes_place = !matches!(name, Name::Function(..));
        self.names.push((name, self.bindings));
        self.bindings += usize::from(takes_place);
    }

    pub(super) fn find(&self, is_it: impl Fn(&Name) -> bool) -> Option<(&Name, usize)> {
        let (name, at) = self.names.iter().rev().find(|(name, _)| is_it(name))?;
        Some((name, *at))
    }

    /// How many bindings lie between here and the one at this place.
    pub(super) fn distance(&self, at: usize) -> usize {
        self.bindings.saturating_sub(at + 1)
    }

    pub(super) fn mark(&self) -> (usize, usize) {
        (self.names.len(), self.bindings)
    }

    pub(super) fn leave(&mut self, (names, bindings): (usize, usize)) {
        self.names.truncate(names);
        self.bindings = bindings;
    }
}
