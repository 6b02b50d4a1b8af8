use super::{Comparison, Listing};

/// Returns how many changes break users, and how many do not.
fn count(old: &str, new: &str) -> (usize, usize) {
    let (old, new) = (Listing::parse(old), Listing::parse(new));
    let changes = Comparison::of(&old, &new);
    (changes.breaking.len(), changes.compatible.len())
}

const NONE: (usize, usize) = (0, 0);
const BREAKING: (usize, usize) = (1, 0);
const COMPATIBLE: (usize, usize) = (0, 1);

#[test]
fn what_is_removed_or_changed_breaks_users_and_what_is_added_does_not() {
    let one = "pub fn a::f() -> u8\n";
    assert_eq!(count(one, one), NONE);
    assert_eq!(count(one, ""), BREAKING);
    assert_eq!(count(one, "pub fn a::f() -> u16\n"), BREAKING);
    assert_eq!(count("", one), COMPATIBLE);
    let send = "impl core::marker::Send for a::S\n";
    assert_eq!(count(send, "impl !core::marker::Send for a::S\n"), (1, 1));
    // Two traits give a type functions of the same name.
    let debug = "pub fn a::S::fmt(&self, &mut core::fmt::Formatter<'_>) -> core::fmt::Result\n";
    let other = format!("{debug}pub fn a::S::fmt(&self, u8)\n");
    assert_eq!(count(debug, &other), COMPATIBLE);
    assert_eq!(count(&other, debug), BREAKING);
}

#[test]
fn a_variant_breaks_users_who_match_all_variants() {
    let with = |head: &str| (format!("{head}\n"), format!("{head}\npub a::E::V\n"));
    let (old, new) = with("pub enum a::E");
    assert_eq!(count(&old, &new), BREAKING);
    let (old, new) = with("#[non_exhaustive] pub enum a::E");
    assert_eq!(count(&old, &new), COMPATIBLE);
    let method = "pub enum a::E\npub fn a::E::name(&self) -> u8\n";
    assert_eq!(count("pub enum a::E\n", method), COMPATIBLE);
    let field = "pub a::E::V\npub a::E::V::field: u8\n";
    assert_eq!(count("pub a::E::V\n", field), BREAKING);
    let whole = "pub enum a::E\npub a::E::V\n";
    assert_eq!(count("", whole), (0, 2), "a new enum with its variants");
}

#[test]
fn a_field_breaks_users_who_make_the_struct_from_its_fields() {
    let open = "pub struct a::S // every field is public\n";
    let closed = "pub struct a::S\n";
    let more = |head: &str| format!("{head}pub a::S::field: u8\n");
    assert_eq!(count(open, &more(open)), BREAKING);
    assert_eq!(count(closed, &more(closed)), COMPATIBLE);
    assert_eq!(count(open, closed), BREAKING, "a private field was added");
    assert_eq!(count(closed, open), COMPATIBLE);
}

#[test]
fn an_item_without_a_default_breaks_those_who_implement_the_trait() {
    let head = "pub trait a::T: core::marker::Send\n";
    let provided = format!("{head}pub fn a::T::f(&self)\n");
    let required = format!("{head}pub fn a::T::f(&self) // required\n");
    assert_eq!(count(head, &provided), COMPATIBLE);
    assert_eq!(count(head, &required), BREAKING);
    assert_eq!(count(&provided, &required), BREAKING);
    assert_eq!(count(&required, &provided), COMPATIBLE);
}

#[test]
fn a_type_that_may_grow_can_stop_growing_but_not_begin_to() {
    let (closed, open) = ("pub enum a::E\n", "#[non_exhaustive] pub enum a::E\n");
    assert_eq!(count(closed, open), BREAKING);
    assert_eq!(count(open, closed), COMPATIBLE);
}

#[test]
fn a_change_is_shown_with_both_lines() {
    let old = Listing::parse("# a 0.1.0\npub fn a::f()\npub fn a::g()\n");
    let new = Listing::parse("# a 0.1.0\npub fn a::f(u8)\npub fn a::h()\n");
    assert_eq!(
        Comparison::of(&old, &new).to_string(),
        "  breaking: changed pub fn a::f()\n    to pub fn a::f(u8)\n  \
         breaking: removed pub fn a::g()\n  added pub fn a::h()\n"
    );
}
