//! A line of a listing.

const NON_EXHAUSTIVE: &str = "#[non_exhaustive] ";
/// Comments of `xtask/public-api`.
const REQUIRED: &str = " // required";
const PUBLIC_FIELDS: &str = " // every field is public";

/// Words between `pub` and a path.
const WORDS: [&str; 18] = [
    "\"C\"", "async", "auto", "const", "enum", "extern", "fn", "macro", "mod", "mut", "proc",
    "static", "struct", "trait", "type", "union", "unsafe", "use",
];

/// An item of the public API, as a line of a listing declares it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
pub(in crate::api) struct Item<'a>(pub(in crate::api) &'a str);

impl<'a> Item<'a> {
    pub(in crate::api) fn is_impl(self) -> bool {
        self.0.starts_with("impl")
    }

    /// Returns whether users must expect more variants or fields.
    pub(in crate::api) fn is_non_exhaustive(self) -> bool {
        self.0.starts_with(NON_EXHAUSTIVE)
    }

    /// Returns whether whoever implements the trait must provide it.
    pub(in crate::api) fn is_required(self) -> bool {
        self.0.ends_with(REQUIRED)
    }

    /// Returns whether users can make a value of the struct from its fields.
    pub(in crate::api) fn has_public_fields_only(self) -> bool {
        self.0.ends_with(PUBLIC_FIELDS)
    }

    /// Returns whether it is a variant or a field: nothing stands between `pub` and its path.
    pub(in crate::api) fn is_part(self) -> bool {
        !self.is_impl() && self.keyword().is_empty()
    }

    /// Returns whether it has parts, or items of a trait.
    pub(in crate::api) fn is_container(self) -> bool {
        self.is_part() || ["enum", "struct", "trait", "union"].contains(&self.keyword())
    }

    /// Returns `fn`, `enum` and so on; nothing for a variant or a field.
    pub(in crate::api) fn keyword(self) -> &'a str {
        self.split().0
    }

    /// Returns whether what uses this item can use the other in its place: both are declared alike, and the
    /// other demands no more.
    pub(in crate::api) fn may_become(self, other: Self) -> bool {
        let demands = |item: Self| {
            [
                item.is_required(),
                item.is_non_exhaustive(),
                !item.has_public_fields_only(),
            ]
        };
        let (old, new) = (demands(self), demands(other));
        self.declaration() == other.declaration()
            && old.into_iter().zip(new).all(|(old, new)| old || !new)
    }

    /// Returns the line without the attribute and the comment.
    fn declaration(self) -> &'a str {
        let line = self.0.trim_start_matches(NON_EXHAUSTIVE);
        line.split(" // ").next().unwrap_or_default()
    }

    /// Returns the last word before the path, and what follows it.
    fn split(self) -> (&'a str, &'a str) {
        let mut rest = self.declaration().trim_start_matches("pub ");
        let mut keyword = "";
        while let Some((word, after)) = rest
            .split_once(' ')
            .filter(|(word, _)| WORDS.contains(word))
        {
            (keyword, rest) = (word, after);
        }
        (keyword, rest)
    }

    /// Returns the path without the parameters of types: `crate::Enum::Variant`.
    pub(in crate::api) fn path(self) -> String {
        let mut path = String::new();
        let mut depth = 0_usize;
        for letter in self.split().1.chars() {
            match letter {
                '<' => depth = depth.saturating_add(1),
                '>' => depth = depth.saturating_sub(1),
                ' ' | '(' | '!' if depth == 0 => break,
                _ if depth == 0 => path.push(letter),
                _ => {}
            }
        }
        path.trim_end_matches(':').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Item;

    #[test]
    fn an_item_has_a_keyword_and_a_path_without_types_and_arguments() {
        for (line, keyword, path) in [
            ("pub mod a", "mod", "a"),
            ("pub async fn a::B<T>::c(&self) -> u8", "fn", "a::B::c"),
            ("pub const fn a::b() -> u8", "fn", "a::b"),
            ("pub const a::MAX: usize", "const", "a::MAX"),
            ("#[non_exhaustive] pub enum a::E", "enum", "a::E"),
            ("pub a::E::V(a::F<u8>)", "", "a::E::V"),
            ("pub a::E::V = 1", "", "a::E::V"),
            ("pub a::S::field: alloc::vec::Vec<u8>", "", "a::S::field"),
            ("pub type a::T = u8", "type", "a::T"),
            ("pub macro a::m!", "macro", "a::m"),
            ("pub trait a::T: core::marker::Send", "trait", "a::T"),
            (
                "pub struct a::S<T> // every field is public",
                "struct",
                "a::S",
            ),
        ] {
            assert_eq!(Item(line).keyword(), keyword, "{line}");
            assert_eq!(Item(line).path(), path, "{line}");
        }
    }
}
