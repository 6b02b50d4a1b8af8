//! One subschema, and which others it applies.

/// One subschema: what it applies, by index.
#[derive(Debug)]
pub(super) struct Subschema<'s> {
    /// To the same value.
    pub(super) same_value: Vec<usize>,
    /// To the same value, by reference.
    pub(super) references: Vec<(usize, &'s str)>,
    /// To the values inside, one of them to each.
    pub(super) one_inside: Vec<usize>,
    /// To the values inside, perhaps all of them to each.
    pub(super) all_inside: Vec<usize>,
    /// Values of the schema that one value is compared with.
    pub(super) compared: u64,
    /// What reads a text byte by byte: a pattern by its states.
    pub(super) readers: u64,
}

impl Subschema<'_> {
    pub(super) fn within_a_value(&self) -> impl Iterator<Item = usize> {
        let referred = self.references.iter().map(|(target, _)| *target);
        self.same_value.iter().copied().chain(referred)
    }

    pub(super) fn everywhere(&self) -> impl Iterator<Item = usize> {
        let inside = self.one_inside.iter().chain(&self.all_inside).copied();
        self.within_a_value().chain(inside)
    }
}
