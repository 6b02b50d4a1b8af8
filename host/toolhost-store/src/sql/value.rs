//! Values of parameters and columns.

use std::borrow::Cow;

/// A value, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueRef<'a> {
    /// No value.
    Null,
    /// A number. False is 0 and true is 1.
    Integer(i64),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

/// What can be a parameter of a statement.
pub trait ToValue {
    /// Returns the value.
    fn to_value(&self) -> ValueRef<'_>;
}

/// What can be read from a column.
pub trait FromValue: Sized {
    /// Returns the value; `None` if it is of another type.
    fn from_value(value: ValueRef<'_>) -> Option<Self>;
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> ValueRef<'_> {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> ValueRef<'_> {
        self.as_ref().map_or(ValueRef::Null, ToValue::to_value)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        if value == ValueRef::Null {
            return Some(None);
        }
        T::from_value(value).map(Some)
    }
}

impl ToValue for i64 {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Integer(*self)
    }
}

impl ToValue for u32 {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Integer(i64::from(*self))
    }
}

impl ToValue for bool {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Integer(i64::from(*self))
    }
}

impl ToValue for str {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}

impl ToValue for String {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}

impl ToValue for Cow<'_, str> {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(self)
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Blob(self)
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Blob(self)
    }
}

impl FromValue for i64 {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Integer(number) => Some(number),
            ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => None,
        }
    }
}

impl FromValue for u32 {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        Self::try_from(i64::from_value(value)?).ok()
    }
}

impl FromValue for bool {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        Some(i64::from_value(value)? != 0)
    }
}

impl FromValue for String {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Text(text) => Some(text.to_owned()),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Blob(_) => None,
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Blob(bytes) => Some(bytes.to_vec()),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Text(_) => None,
        }
    }
}
