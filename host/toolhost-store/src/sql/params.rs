//! The parameters of a statement.

use super::value::{ToValue, ValueRef};

/// The values of a statement, by place or by name.
#[derive(Debug, Clone, Copy)]
pub enum Bindings<'a> {
    /// The first is `?1`.
    Positional(&'a [ValueRef<'a>]),
    /// A name is `:name`.
    Named(&'a [(&'a str, ValueRef<'a>)]),
}

/// What a statement can be given: a tuple, an array, [`params!`](crate::params) or
/// [`named_params!`](crate::named_params).
pub trait Params {
    /// Runs something with the values.
    fn with<R>(self, run: impl FnOnce(Bindings<'_>) -> R) -> R;
}

impl Params for () {
    fn with<R>(self, run: impl FnOnce(Bindings<'_>) -> R) -> R {
        run(Bindings::Positional(&[]))
    }
}

impl<T: ToValue, const N: usize> Params for [T; N] {
    fn with<R>(self, run: impl FnOnce(Bindings<'_>) -> R) -> R {
        let values = self.each_ref().map(ToValue::to_value);
        run(Bindings::Positional(&values))
    }
}

impl<const N: usize> Params for &[&dyn ToValue; N] {
    fn with<R>(self, run: impl FnOnce(Bindings<'_>) -> R) -> R {
        run(Bindings::Positional(&self.map(ToValue::to_value)))
    }
}

impl<const N: usize> Params for &[(&str, &dyn ToValue); N] {
    fn with<R>(self, run: impl FnOnce(Bindings<'_>) -> R) -> R {
        let values = self.map(|(name, value)| (name, value.to_value()));
        run(Bindings::Named(&values))
    }
}

macro_rules! tuples {
    ($(($($name:ident $number:tt),+))+) => {$(
        impl<$($name: ToValue),+> Params for ($($name,)+) {
            fn with<R>(self, run: impl FnOnce(Bindings<'_>) -> R) -> R {
                run(Bindings::Positional(&[$(self.$number.to_value()),+]))
            }
        }
    )+};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

/// Lists values of different types: the first is `?1`.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$(&$value as &dyn $crate::sql::ToValue),*]
    };
}

/// Lists values with the names that a statement has for them: `":name": value`.
#[macro_export]
macro_rules! named_params {
    ($($name:literal : $value:expr),* $(,)?) => {
        &[$(($name, &$value as &dyn $crate::sql::ToValue)),*]
    };
}
