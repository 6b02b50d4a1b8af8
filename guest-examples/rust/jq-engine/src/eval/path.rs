//! Where a value lies within the input of `path`.

use std::rc::Rc;

use crate::access;
use crate::fault::{Flow, error};
use crate::json::excerpt;
use crate::value::Val;

/// A step of a path; the first has no parent and no keys.
pub(crate) struct Tracked {
    parent: Option<Rc<Tracked>>,
    /// One key, or several of `getpath`.
    keys: Vec<Val>,
    /// The value at the path. What follows must be about this one.
    value: Val,
}

impl Tracked {
    pub(crate) fn start(value: &Val) -> Rc<Self> {
        Rc::new(Self {
            parent: None,
            keys: Vec::new(),
            value: value.clone(),
        })
    }

    fn step(parent: &Rc<Self>, keys: Vec<Val>, value: &Val) -> Rc<Self> {
        Rc::new(Self {
            parent: Some(Rc::clone(parent)),
            keys,
            value: value.clone(),
        })
    }

    pub(crate) fn keys(&self) -> Vec<Val> {
        let mut steps = Vec::new();
        let mut step = Some(self);
        while let Some(tracked) = step {
            steps.push(tracked);
            step = tracked.parent.as_deref();
        }
        steps
            .iter()
            .rev()
            .flat_map(|step| step.keys.iter().cloned())
            .collect()
    }
}

/// A value, and its path where paths are wanted.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) value: Val,
    pub(crate) path: Option<Rc<Tracked>>,
}

pub(crate) type Receiver<'r> = &'r mut dyn FnMut(Current) -> Flow;

impl From<Val> for Current {
    fn from(value: Val) -> Self {
        Self { value, path: None }
    }
}

impl Current {
    /// Returns whether the value is the one at its path.
    fn is_intact(&self) -> bool {
        self.path
            .as_ref()
            .is_none_or(|tracked| tracked.value.is_same(&self.value))
    }

    /// # Errors
    /// The value was computed, and lies nowhere within the input.
    pub(crate) fn expect_path(&self) -> Result<(), Val> {
        if self.is_intact() {
            return Ok(());
        }
        Err(error(format!(
            "Invalid path expression with result {}",
            excerpt(&self.value, 29)
        )))
    }

    pub(crate) fn expect_element(&self, key: &Val) -> Result<(), Val> {
        if self.is_intact() {
            return Ok(());
        }
        let (key, value) = (excerpt(key, 14), excerpt(&self.value, 29));
        Err(error(format!(
            "Invalid path expression near attempt to access element {key} of {value}"
        )))
    }

    pub(crate) fn expect_iteration(&self) -> Result<(), Val> {
        if self.is_intact() {
            return Ok(());
        }
        let value = excerpt(&self.value, 29);
        Err(error(format!(
            "Invalid path expression near attempt to iterate through {value}"
        )))
    }

    /// The value at a key of this one.
    pub(crate) fn child(&self, key: impl FnOnce() -> Val, value: Val) -> Self {
        let path = self
            .path
            .as_ref()
            .map(|tracked| Tracked::step(tracked, vec![key()], &value));
        Self { value, path }
    }

    /// The value at a path from this one; a value that lies nowhere keeps its path.
    pub(crate) fn descendant(&self, keys: &Val, value: Val) -> Self {
        let path = self.path.as_ref().map(|tracked| match keys {
            Val::Arr(keys) if self.is_intact() => Tracked::step(tracked, keys.to_vec(), &value),
            _ => Rc::clone(tracked),
        });
        Self { value, path }
    }

    /// A computed value, with the path of this one.
    pub(crate) fn computed(&self, value: Val) -> Self {
        Self {
            value,
            path: self.path.clone(),
        }
    }
}

pub(super) fn each(current: &Current, receive: Receiver<'_>) -> Flow {
    current.expect_iteration()?;
    match &current.value {
        Val::Arr(items) => {
            for (at, item) in items.iter().enumerate() {
                receive(current.child(|| at.into(), item.clone()))?;
            }
            Ok(())
        }
        Val::Obj(object) => {
            for (key, value) in object.iter() {
                receive(current.child(|| Val::Str(std::rc::Rc::clone(key)), value.clone()))?;
            }
            Ok(())
        }
        other => Err(access::not_iterable(other).into()),
    }
}
