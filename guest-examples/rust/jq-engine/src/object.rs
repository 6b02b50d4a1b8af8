//! Objects in the order in which their keys were set.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::value::Val;

/// With more keys, an index finds them.
const MOST_WITHOUT_INDEX: usize = 12;

type Index = HashMap<Rc<str>, usize, BuildHasherDefault<KeyHasher>>;

/// The members of an object.
#[derive(Clone, Debug, Default)]
pub struct Object {
    entries: Vec<(Rc<str>, Val)>,
    index: Option<Box<Index>>,
}

impl Object {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Val> {
        self.entries
            .get(self.position(key)?)
            .map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Val> {
        let position = self.position(key)?;
        self.entries.get_mut(position).map(|(_, value)| value)
    }

    fn position(&self, key: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(key).copied(),
            None => self.entries.iter().position(|(entry, _)| &**entry == key),
        }
    }

    /// Sets a value; a new key comes last.
    pub fn insert(&mut self, key: Rc<str>, value: Val) {
        if let Some(place) = self.get_mut(&key) {
            *place = value;
            return;
        }
        if let Some(index) = &mut self.index {
            index.insert(Rc::clone(&key), self.entries.len());
        }
        self.entries.push((key, value));
        if self.index.is_none() && self.entries.len() > MOST_WITHOUT_INDEX {
            self.reindex();
        }
    }

    fn reindex(&mut self) {
        self.index = (self.entries.len() > MOST_WITHOUT_INDEX).then(|| {
            let entries = self.entries.iter().enumerate();
            Box::new(entries.map(|(at, (key, _))| (Rc::clone(key), at)).collect())
        });
    }

    /// Removes keys; the others keep their order.
    pub(crate) fn remove(&mut self, keys: &[Rc<str>]) {
        if let [key] = keys {
            if self.position(key).is_none() {
                return;
            }
            self.entries.retain(|(entry, _)| entry != key);
        } else {
            let keys: Index = keys.iter().map(|key| (Rc::clone(key), 0)).collect();
            self.entries.retain(|(entry, _)| !keys.contains_key(entry));
        }
        self.reindex();
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Rc<str>, &Val)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Val> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The members by the bytes of their keys.
    pub(crate) fn sorted(&self) -> Vec<(&Rc<str>, &Val)> {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        entries
    }
}

impl FromIterator<(Rc<str>, Val)> for Object {
    fn from_iter<I: IntoIterator<Item = (Rc<str>, Val)>>(members: I) -> Self {
        let mut object = Self::new();
        for (key, value) in members {
            object.insert(key, value);
        }
        object
    }
}

/// Multiplies eight bytes at a time.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let word = part.iter().fold(part.len() as u64, |word, byte| {
                (word << 8) | u64::from(*byte)
            });
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}
