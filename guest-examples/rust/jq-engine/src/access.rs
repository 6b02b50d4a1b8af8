//! Elements and paths of values.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::fault::error;
use crate::json::excerpt;
use crate::object::Object;
use crate::value::{Val, compare};

/// The largest index that is set: an array up to it has 16 bytes for each element.
const MAX_INDEX: f64 = 536_870_911.0;

pub(crate) fn not_iterable(value: &Val) -> Val {
    error(format!(
        "Cannot iterate over {} ({})",
        value.kind(),
        excerpt(value, 14)
    ))
}

/// The key `{"start": …, "end": …}`.
pub(crate) fn slice_key(from: Val, to: Val) -> Val {
    let mut object = Object::new();
    object.insert("start".into(), from);
    object.insert("end".into(), to);
    object.into()
}

/// The value at a key.
///
/// # Errors
/// Such a value has no such keys.
pub(crate) fn get(value: &Val, key: &Val) -> Result<Val, Val> {
    match (value, key) {
        (Val::Obj(object), Val::Str(key)) => Ok(object.get(key).cloned().unwrap_or_default()),
        (Val::Arr(items), Val::Num(_) | Val::Lit(_)) => {
            let at = index(key, items.len());
            Ok(at.and_then(|at| items.get(at)).cloned().unwrap_or_default())
        }
        (Val::Arr(items), Val::Obj(slice)) => {
            let (from, to) = bounds(slice, items.len())?;
            Ok(items.get(from..to).unwrap_or_default().to_vec().into())
        }
        (Val::Str(text), Val::Obj(slice)) => {
            let (from, to) = bounds(slice, text.chars().count())?;
            Ok(text
                .chars()
                .skip(from)
                .take(to - from)
                .collect::<String>()
                .into())
        }
        (Val::Arr(items), Val::Arr(part)) => Ok(indices(items, part)),
        (Val::Null, Val::Str(_) | Val::Num(_) | Val::Lit(_) | Val::Obj(_)) => Ok(Val::Null),
        (value, Val::Str(key)) if key.len() < 30 => Err(error(format!(
            "Cannot index {} with string \"{key}\"",
            value.kind()
        ))),
        (value, key) => Err(error(format!(
            "Cannot index {} with {}",
            value.kind(),
            key.kind()
        ))),
    }
}

/// The place in an array of this length; negative numbers count from the end.
fn index(key: &Val, len: usize) -> Option<usize> {
    let key = key.number().filter(|key| !key.is_nan())?.trunc();
    let at = if key < 0.0 { key + len as f64 } else { key };
    (at >= 0.0 && at < f64::from(i32::MAX)).then_some(at as usize)
}

/// The bounds of a slice of so many elements: from is rounded down, to is rounded up.
fn bounds(slice: &Object, len: usize) -> Result<(usize, usize), Val> {
    let part = |name: &str, default: f64| match slice.get(name) {
        Some(Val::Null) => Ok(default),
        value => {
            let number = value.and_then(Val::number);
            number.ok_or_else(|| error("Array/string slice indices must be integers"))
        }
    };
    let len = len as f64;
    let (from, to) = (part("start", 0.0)?, part("end", len)?);
    let from = if from.is_nan() { 0.0 } else { from };
    let from = if from < 0.0 { from + len } else { from };
    let from = from.clamp(0.0, len).floor();
    let to = if to.is_nan() { len } else { to };
    let to = if to < 0.0 { to + len } else { to };
    let to = if to < 0.0 { from } else { to.min(len).ceil() };
    Ok((from as usize, to.max(from) as usize))
}

/// Where a part begins within an array.
pub(crate) fn indices(items: &[Val], part: &[Val]) -> Val {
    if part.is_empty() {
        return Vec::new().into();
    }
    let starts = items
        .windows(part.len())
        .enumerate()
        .filter(|(_, window)| *window == part);
    starts
        .map(|(at, _)| Val::from(at))
        .collect::<Vec<_>>()
        .into()
}

pub(crate) fn has(value: &Val, key: &Val) -> Result<bool, Val> {
    match (value, key) {
        (Val::Null, _) => Ok(false),
        (Val::Obj(object), Val::Str(key)) => Ok(object.get(key).is_some()),
        (Val::Arr(items), Val::Num(_) | Val::Lit(_)) => {
            let at = key.number().map_or(-1.0, f64::trunc);
            Ok(at >= 0.0 && at < items.len() as f64)
        }
        (value, key) => Err(error(format!(
            "Cannot check whether {} has a {} key",
            value.kind(),
            key.kind()
        ))),
    }
}

pub(crate) fn get_path(value: Val, path: &[Val]) -> Result<Val, Val> {
    path.iter().try_fold(value, |value, key| get(&value, key))
}

/// Takes the value at a path out, and leaves null there.
pub(crate) fn take_path(value: &mut Val, path: &[Val]) -> Result<Val, Val> {
    let Some((key, rest)) = path.split_first() else {
        return Ok(std::mem::take(value));
    };
    if let Some(place) = place(value, key) {
        return take_path(place, rest);
    }
    get_path(get(value, key)?, rest)
}

/// The place of an element that exists.
fn place<'v>(value: &'v mut Val, key: &Val) -> Option<&'v mut Val> {
    match (value, key) {
        (Val::Obj(object), Val::Str(key)) if object.get(key).is_some() => {
            Rc::make_mut(object).get_mut(key)
        }
        (Val::Arr(items), Val::Num(_) | Val::Lit(_)) => {
            let at = index(key, items.len()).filter(|at| *at < items.len())?;
            Rc::make_mut(items).get_mut(at)
        }
        _ => None,
    }
}

/// Sets the value at a path; what is missing on the way is made.
pub(crate) fn set_path(mut value: Val, path: &[Val], new: Val) -> Result<Val, Val> {
    let Some((key, rest)) = path.split_first() else {
        return Ok(new);
    };
    if let Some(place) = place(&mut value, key) {
        let before = std::mem::take(place);
        *place = set_path(before, rest, new)?;
        return Ok(value);
    }
    let child = get(&value, key)?;
    let child = set_path(child, rest, new)?;
    set(value, key, child)
}

fn set(value: Val, key: &Val, new: Val) -> Result<Val, Val> {
    match (value, key) {
        (Val::Obj(mut object), Val::Str(key)) => {
            Rc::make_mut(&mut object).insert(Rc::clone(key), new);
            Ok(Val::Obj(object))
        }
        (Val::Null, Val::Str(key)) => {
            let mut object = Object::new();
            object.insert(Rc::clone(key), new);
            Ok(object.into())
        }
        (Val::Arr(items), Val::Num(_) | Val::Lit(_)) => set_item(items, key, new),
        (Val::Null, Val::Num(_) | Val::Lit(_)) => set_item(Rc::default(), key, new),
        (Val::Arr(items), Val::Obj(slice)) => set_slice(items, slice, new),
        (Val::Null, Val::Obj(slice)) => set_slice(Rc::default(), slice, new),
        (Val::Str(_), Val::Obj(_)) => Err(error("Cannot update string slices")),
        (value, key) => Err(error(format!(
            "Cannot update field at {} index of {}",
            key.kind(),
            value.kind()
        ))),
    }
}

fn set_item(mut items: Rc<Vec<Val>>, key: &Val, new: Val) -> Result<Val, Val> {
    let number = key.number().unwrap_or(f64::NAN);
    if number.is_nan() {
        return Err(error("Cannot set array element at NaN index"));
    }
    if number > MAX_INDEX {
        return Err(error("Array index too large"));
    }
    let Some(at) = index(key, items.len()) else {
        return Err(error("Out of bounds negative array index"));
    };
    let elements = Rc::make_mut(&mut items);
    if at >= elements.len() {
        elements.resize(at + 1, Val::Null);
    }
    if let Some(place) = elements.get_mut(at) {
        *place = new;
    }
    Ok(Val::Arr(items))
}

fn set_slice(mut items: Rc<Vec<Val>>, slice: &Object, new: Val) -> Result<Val, Val> {
    let (from, to) = bounds(slice, items.len())?;
    let Val::Arr(new) = new else {
        return Err(error(
            "A slice of an array can only be assigned another array",
        ));
    };
    Rc::make_mut(&mut items).splice(from..to, new.iter().cloned());
    Ok(Val::Arr(items))
}

/// Deletes all paths at once: the indices are those before the deletion.
pub(crate) fn delete_paths(value: Val, mut paths: Vec<Val>) -> Result<Val, Val> {
    paths.sort_by(crate::value::compare_to_sort);
    let mut keys = Vec::with_capacity(paths.len());
    for path in &paths {
        let Val::Arr(path) = path else {
            return Err(error(format!(
                "Path must be specified as array, not {}",
                path.kind()
            )));
        };
        keys.push(path.as_slice());
    }
    match keys.first() {
        None => Ok(value),
        Some([]) => Ok(Val::Null),
        Some(_) => delete_sorted(value, &keys),
    }
}

/// Paths are sorted and not empty.
fn delete_sorted(mut value: Val, mut paths: &[&[Val]]) -> Result<Val, Val> {
    let mut whole: Vec<&Val> = Vec::new();
    while let Some(key) = paths.first().and_then(|path| path.first()) {
        let same = |path: &&[Val]| {
            path.first()
                .is_some_and(|other| compare(key, other) == Ordering::Equal)
        };
        let count = paths.iter().take_while(|path| same(path)).count().max(1);
        let (group, rest) = paths.split_at_checked(count).unwrap_or((paths, &[]));
        paths = rest;
        if group.first().is_some_and(|path| path.len() == 1) {
            whole.push(key);
            continue;
        }
        let child = take_child(&mut value, key)?;
        if child.is_null() {
            continue;
        }
        let inner: Vec<&[Val]> = group.iter().filter_map(|path| path.get(1..)).collect();
        value = set(value, key, delete_sorted(child, &inner)?)?;
    }
    delete_keys(value, &whole)
}

fn take_child(value: &mut Val, key: &Val) -> Result<Val, Val> {
    match place(value, key) {
        Some(place) => Ok(std::mem::take(place)),
        None => get(value, key),
    }
}

fn delete_keys(value: Val, keys: &[&Val]) -> Result<Val, Val> {
    match value {
        _ if keys.is_empty() => Ok(value),
        Val::Null => Ok(Val::Null),
        Val::Obj(mut object) => {
            let mut names = Vec::with_capacity(keys.len());
            for key in keys {
                let Val::Str(key) = key else {
                    return Err(error(format!(
                        "Cannot delete {} field of object",
                        key.kind()
                    )));
                };
                names.push(Rc::clone(key));
            }
            Rc::make_mut(&mut object).remove(&names);
            Ok(Val::Obj(object))
        }
        Val::Arr(mut items) => {
            let mut deleted = vec![false; items.len()];
            for key in keys {
                let range = match key {
                    Val::Num(_) | Val::Lit(_) => {
                        index(key, items.len()).map(|at| (at, at.saturating_add(1)))
                    }
                    Val::Obj(slice) => Some(bounds(slice, items.len())?),
                    key => {
                        return Err(error(format!(
                            "Cannot delete {} element of array",
                            key.kind()
                        )));
                    }
                };
                let range = range.and_then(|(from, to)| deleted.get_mut(from..to));
                range
                    .into_iter()
                    .flatten()
                    .for_each(|deleted| *deleted = true);
            }
            let mut deleted = deleted.into_iter();
            Rc::make_mut(&mut items).retain(|_| !deleted.next().unwrap_or(false));
            Ok(Val::Arr(items))
        }
        value => Err(error(format!("Cannot delete fields from {}", value.kind()))),
    }
}
