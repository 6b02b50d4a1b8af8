//! The values of jq.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::number::Literal;
use crate::object::Object;

/// A value of JSON. Copies share arrays, objects and texts.
#[derive(Clone, Debug, Default)]
pub enum Val {
    #[default]
    Null,
    Bool(bool),
    Num(f64),
    /// A number of a document whose digits a double does not show.
    Lit(Rc<Literal>),
    Str(Rc<str>),
    Arr(Rc<Vec<Val>>),
    Obj(Rc<Object>),
}

impl Val {
    /// The name of the type.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Num(_) | Self::Lit(_) => "number",
            Self::Str(_) => "string",
            Self::Arr(_) => "array",
            Self::Obj(_) => "object",
        }
    }

    /// Everything but `null` and `false`.
    #[must_use]
    pub fn is_true(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Num(number) => Some(*number),
            Self::Lit(literal) => Some(literal.value()),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Whether both are one value in memory, or equal where there is no memory to compare.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Num(a), Self::Num(b)) => a.to_bits() == b.to_bits(),
            (Self::Lit(a), Self::Lit(b)) => Rc::ptr_eq(a, b),
            (Self::Str(a), Self::Str(b)) => Rc::ptr_eq(a, b),
            (Self::Arr(a), Self::Arr(b)) => Rc::ptr_eq(a, b),
            (Self::Obj(a), Self::Obj(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The place of a type in the order of values.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(false) => 1,
            Self::Bool(true) => 2,
            Self::Num(_) | Self::Lit(_) => 3,
            Self::Str(_) => 4,
            Self::Arr(_) => 5,
            Self::Obj(_) => 6,
        }
    }
}

impl From<bool> for Val {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Val {
    fn from(value: f64) -> Self {
        Self::Num(value)
    }
}

impl From<usize> for Val {
    fn from(value: usize) -> Self {
        Self::Num(value as f64)
    }
}

impl From<&str> for Val {
    fn from(value: &str) -> Self {
        Self::Str(value.into())
    }
}

impl From<String> for Val {
    fn from(value: String) -> Self {
        Self::Str(value.into())
    }
}

impl From<Vec<Val>> for Val {
    fn from(value: Vec<Val>) -> Self {
        Self::Arr(Rc::new(value))
    }
}

impl From<Object> for Val {
    fn from(value: Object) -> Self {
        Self::Obj(Rc::new(value))
    }
}

/// The order of all values: null, false, true, numbers, texts, arrays, objects. NaN is less than every number,
/// itself included.
pub(crate) fn compare(a: &Val, b: &Val) -> Ordering {
    order(a, b, Ordering::Less)
}

/// The same order for sorting, where NaN is equal to itself.
pub(crate) fn compare_to_sort(a: &Val, b: &Val) -> Ordering {
    order(a, b, Ordering::Equal)
}

/// `nan` is the order of NaN and NaN.
fn order(a: &Val, b: &Val, nan: Ordering) -> Ordering {
    match (a, b) {
        (Val::Str(a), Val::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Val::Lit(a), Val::Lit(b)) => a.compare(b),
        (Val::Num(_) | Val::Lit(_), Val::Num(_) | Val::Lit(_)) => {
            let (a, b) = (
                a.number().unwrap_or(f64::NAN),
                b.number().unwrap_or(f64::NAN),
            );
            match (a.is_nan(), b.is_nan()) {
                (true, true) => nan,
                (true, false) => Ordering::Less,
                (false, _) => a.partial_cmp(&b).unwrap_or(Ordering::Greater),
            }
        }
        (Val::Arr(a), Val::Arr(b)) => {
            let pairs = a.iter().zip(b.iter());
            let first = pairs
                .map(|(a, b)| order(a, b, nan))
                .find(|order| order.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Val::Obj(a), Val::Obj(b)) => order_objects(a, b, nan),
        _ => a.rank().cmp(&b.rank()),
    }
}

/// The keys first, in their order; then the values, by key.
fn order_objects(a: &Object, b: &Object, nan: Ordering) -> Ordering {
    let (a, b) = (a.sorted(), b.sorted());
    let keys = a
        .iter()
        .map(|(key, _)| key.as_bytes())
        .cmp(b.iter().map(|(key, _)| key.as_bytes()));
    keys.then_with(|| {
        let values = a.iter().zip(&b).map(|((_, a), (_, b))| order(a, b, nan));
        values
            .into_iter()
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

impl PartialEq for Val {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Num(a), Self::Num(b)) => a == b,
            (Self::Lit(a), Self::Lit(b)) => a.compare(b).is_eq(),
            (Self::Num(_) | Self::Lit(_), Self::Num(_) | Self::Lit(_)) => {
                self.number() == other.number()
            }
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Arr(a), Self::Arr(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a == b)
            }
            (Self::Obj(a), Self::Obj(b)) => {
                let same = |(key, value): (&Rc<str>, &Val)| b.get(key) == Some(value);
                a.len() == b.len() && a.iter().all(same)
            }
            _ => self.rank() == other.rank() && self.rank() < 3,
        }
    }
}
