//! Arrays and objects, types and errors.

use std::cmp::Ordering;
use std::rc::Rc;

use super::arithmetic::{add, failure, failure2};
use super::{Native, native};
use crate::access;
use crate::fault::{error, object_key};
use crate::json;
use crate::object::Object;
use crate::value::{Val, compare, compare_to_sort};

pub(super) const TABLE: &[Native] = &[
    native("not", 0, |input, _| Ok(Val::Bool(!input.is_true()))),
    native("length", 0, |input, _| length(&input)),
    native("type", 0, |input, _| Ok(input.kind().into())),
    native("error", 0, |input, _| Err(input)),
    native("keys", 0, |input, _| keys(&input, true)),
    native("keys_unsorted", 0, |input, _| keys(&input, false)),
    native("has", 1, |input, args| {
        access::has(&input, arg(args, 0)).map(Val::Bool)
    }),
    native("contains", 1, |input, args| {
        let other = arg(args, 0);
        if input.kind() != other.kind() {
            return Err(failure2(
                &input,
                other,
                "cannot have their containment checked",
            ));
        }
        Ok(Val::Bool(contains(&input, other)))
    }),
    native("add", 0, |input, _| sum(&input)),
    native("to_entries", 0, |input, _| to_entries(&input)),
    native("from_entries", 0, |input, _| from_entries(&input)),
    native("sort", 0, |input, _| match input {
        Val::Arr(mut items) => {
            Rc::make_mut(&mut items).sort_by(compare_to_sort);
            Ok(Val::Arr(items))
        }
        other => Err(failure(&other, "cannot be sorted, as it is not an array")),
    }),
    native("_sort_by", 1, |input, args| {
        let keyed = keyed(&input, arg(args, 0))?;
        Ok(keyed
            .into_iter()
            .map(|(_, item)| item.clone())
            .collect::<Vec<_>>()
            .into())
    }),
    native("_group_by", 1, |input, args| {
        let groups = grouped(keyed(&input, arg(args, 0))?);
        Ok(groups.into_iter().map(Val::from).collect::<Vec<_>>().into())
    }),
    native("_unique_by", 1, |input, args| {
        let groups = grouped(keyed(&input, arg(args, 0))?);
        Ok(groups
            .into_iter()
            .filter_map(|group| group.into_iter().next())
            .collect::<Vec<_>>()
            .into())
    }),
    native("min", 0, |input, _| extreme(&input, &input, Ordering::Less)),
    native("max", 0, |input, _| {
        extreme(&input, &input, Ordering::Greater)
    }),
    native("_min_by", 1, |input, args| {
        extreme(&input, arg(args, 0), Ordering::Less)
    }),
    native("_max_by", 1, |input, args| {
        extreme(&input, arg(args, 0), Ordering::Greater)
    }),
    native("reverse", 0, |input, _| match input {
        Val::Arr(mut items) => {
            Rc::make_mut(&mut items).reverse();
            Ok(Val::Arr(items))
        }
        other => match length(&other)?.number() {
            Some(0.0) => Ok(Vec::new().into()),
            _ => Err(access::get(&other, &Val::Num(0.0))
                .err()
                .unwrap_or_default()),
        },
    }),
    native("flatten", 0, |input, _| flatten(&input, -1.0)),
    native("flatten", 1, |input, args| {
        let depth = arg(args, 0);
        match depth.number() {
            Some(depth) if depth < 0.0 => Err(error("flatten depth must not be negative")),
            Some(depth) => flatten(&input, depth),
            None if depth.is_null() || matches!(depth, Val::Bool(_)) => {
                Err(error("flatten depth must not be negative"))
            }
            None => Err(failure2(depth, &Val::Num(1.0), "cannot be subtracted")),
        }
    }),
    native("transpose", 0, |input, _| transpose(&input)),
    native("bsearch", 1, |input, args| search(&input, arg(args, 0))),
    native("setpath", 2, |input, args| match arg(args, 0) {
        Val::Arr(path) => access::set_path(input, path, arg(args, 1).clone()),
        _ => Err(error("Path must be specified as an array")),
    }),
    native("delpaths", 1, |input, args| match arg(args, 0) {
        Val::Arr(paths) => access::delete_paths(input, paths.to_vec()),
        _ => Err(error("Paths must be specified as an array")),
    }),
    native("tojson", 0, |input, _| Ok(json::print(&input).into())),
    native("fromjson", 0, |input, _| match &input {
        Val::Str(text) => json::parse(text).map_err(error),
        other => Err(failure(other, "only strings can be parsed")),
    }),
    native("tostring", 0, |input, _| Ok(to_text(input))),
    native("tonumber", 0, |input, _| match &input {
        Val::Num(_) | Val::Lit(_) => Ok(input),
        Val::Str(text) => match json::parse(text).map_err(error)? {
            value @ (Val::Num(_) | Val::Lit(_)) => Ok(value),
            _ => Err(failure(&input, "cannot be parsed as a number")),
        },
        other => Err(failure(other, "cannot be parsed as a number")),
    }),
    native("toboolean", 0, |input, _| match &input {
        Val::Bool(_) => Ok(input),
        Val::Str(text) if &**text == "true" => Ok(Val::Bool(true)),
        Val::Str(text) if &**text == "false" => Ok(Val::Bool(false)),
        other => Err(failure(other, "cannot be parsed as a boolean")),
    }),
    native("have_literal_numbers", 0, |_, _| Ok(Val::Bool(true))),
    native("have_decnum", 0, |_, _| Ok(Val::Bool(true))),
    native("get_search_list", 0, |_, _| Ok(Vec::new().into())),
];

/// An argument; the tables say how many there are.
pub(super) fn arg(args: &[Val], at: usize) -> &Val {
    args.get(at).unwrap_or(&Val::Null)
}

/// A text as it is, and others as JSON.
pub(super) fn to_text(value: Val) -> Val {
    match value {
        Val::Str(_) => value,
        other => json::print(&other).into(),
    }
}

pub(super) fn length(value: &Val) -> Result<Val, Val> {
    match value {
        Val::Null => Ok(Val::Num(0.0)),
        Val::Num(_) | Val::Lit(_) => Ok(Val::Num(value.number().unwrap_or(f64::NAN).abs())),
        Val::Str(text) => Ok(text.chars().count().into()),
        Val::Arr(items) => Ok(items.len().into()),
        Val::Obj(object) => Ok(object.len().into()),
        Val::Bool(_) => Err(failure(value, "has no length")),
    }
}

fn keys(value: &Val, sorted: bool) -> Result<Val, Val> {
    let text = |(key, _): (&Rc<str>, &Val)| Val::Str(Rc::clone(key));
    match value {
        Val::Obj(object) if sorted => Ok(object
            .sorted()
            .into_iter()
            .map(text)
            .collect::<Vec<_>>()
            .into()),
        Val::Obj(object) => Ok(object.iter().map(text).collect::<Vec<_>>().into()),
        Val::Arr(items) => Ok((0..items.len()).map(Val::from).collect::<Vec<_>>().into()),
        other => Err(failure(other, "has no keys")),
    }
}

fn contains(a: &Val, b: &Val) -> bool {
    match (a, b) {
        (Val::Obj(a), Val::Obj(b)) => b
            .iter()
            .all(|(key, value)| a.get(key).is_some_and(|member| contains(member, value))),
        (Val::Arr(a), Val::Arr(b)) => b
            .iter()
            .all(|value| a.iter().any(|item| contains(item, value))),
        (Val::Str(a), Val::Str(b)) => a.contains(&**b),
        (a, b) => a == b,
    }
}

fn sum(value: &Val) -> Result<Val, Val> {
    if let Val::Arr(items) = value {
        if let Some(Val::Str(_)) = items.first() {
            // Without a copy for each.
            if let Some(parts) = items.iter().map(Val::text).collect::<Option<Vec<_>>>() {
                return Ok(parts.concat().into());
            }
        }
        return items
            .iter()
            .try_fold(Val::Null, |sum, item| add(sum, item.clone()));
    }
    match value {
        Val::Obj(object) => object
            .iter()
            .try_fold(Val::Null, |sum, (_, item)| add(sum, item.clone())),
        other => Err(access::not_iterable(other)),
    }
}

fn to_entries(value: &Val) -> Result<Val, Val> {
    let entry = |(key, value): (Val, Val)| {
        let mut object = Object::new();
        object.insert("key".into(), key);
        object.insert("value".into(), value);
        Val::from(object)
    };
    match value {
        Val::Obj(object) => {
            let members = object
                .iter()
                .map(|(key, value)| (Val::Str(Rc::clone(key)), value.clone()));
            Ok(members.map(entry).collect::<Vec<_>>().into())
        }
        Val::Arr(items) => {
            let members = items
                .iter()
                .enumerate()
                .map(|(at, item)| (Val::from(at), item.clone()));
            Ok(members.map(entry).collect::<Vec<_>>().into())
        }
        other => Err(failure(other, "has no keys")),
    }
}

fn from_entries(value: &Val) -> Result<Val, Val> {
    let entries: Vec<&Val> = match value {
        Val::Arr(items) => items.iter().collect(),
        Val::Obj(object) => object.iter().map(|(_, value)| value).collect(),
        other => return Err(access::not_iterable(other)),
    };
    let mut result = Object::new();
    for entry in entries {
        let mut key = Val::Null;
        for name in ["key", "Key", "name", "Name"] {
            key = access::get(entry, &name.into())?;
            if key.is_true() {
                break;
            }
        }
        let key = object_key(&key)?;
        let name = if access::has(entry, &"value".into())? {
            "value"
        } else {
            "Value"
        };
        result.insert(key, access::get(entry, &name.into())?);
    }
    Ok(result.into())
}

/// The items with their keys, in the order of these.
fn keyed<'v>(items: &'v Val, keys: &'v Val) -> Result<Vec<(&'v Val, &'v Val)>, Val> {
    match (items, keys) {
        (Val::Arr(items), Val::Arr(keys)) if items.len() == keys.len() => {
            let mut keyed: Vec<_> = keys.iter().zip(items.iter()).collect();
            keyed.sort_by(|(a, _), (b, _)| compare_to_sort(a, b));
            Ok(keyed)
        }
        _ => Err(failure2(
            items,
            keys,
            "cannot be sorted, as they are not both arrays",
        )),
    }
}

fn grouped(keyed: Vec<(&Val, &Val)>) -> Vec<Vec<Val>> {
    let mut groups: Vec<Vec<Val>> = Vec::new();
    let mut last: Option<&Val> = None;
    for (key, item) in keyed {
        match (last, groups.last_mut()) {
            (Some(last), Some(group)) if compare(last, key).is_eq() => group.push(item.clone()),
            _ => groups.push(vec![item.clone()]),
        }
        last = Some(key);
    }
    groups
}

/// The first smallest or the last largest.
fn extreme(items: &Val, keys: &Val, wanted: Ordering) -> Result<Val, Val> {
    let (Val::Arr(list), Val::Arr(key_list)) = (items, keys) else {
        return Err(failure2(items, keys, "cannot be iterated over"));
    };
    let mut pairs = key_list.iter().zip(list.iter());
    let Some(first) = pairs.next() else {
        return Ok(Val::Null);
    };
    let best = pairs.fold(first, |best, next| {
        let less = compare(next.0, best.0).is_lt();
        if less == wanted.is_lt() { next } else { best }
    });
    Ok(best.1.clone())
}

fn flatten(value: &Val, depth: f64) -> Result<Val, Val> {
    fn push(value: &Val, depth: f64, flat: &mut Vec<Val>) {
        match value {
            Val::Arr(items) if depth != 0.0 => {
                items.iter().for_each(|item| push(item, depth - 1.0, flat))
            }
            other => flat.push(other.clone()),
        }
    }
    let mut flat = Vec::new();
    match value {
        Val::Arr(items) => items.iter().for_each(|item| push(item, depth, &mut flat)),
        Val::Obj(object) => object
            .iter()
            .for_each(|(_, item)| push(item, depth, &mut flat)),
        other => return Err(access::not_iterable(other)),
    }
    Ok(flat.into())
}

fn transpose(value: &Val) -> Result<Val, Val> {
    let rows: Vec<&Val> = match value {
        Val::Arr(rows) => rows.iter().collect(),
        Val::Obj(rows) => rows.iter().map(|(_, row)| row).collect(),
        other => return Err(access::not_iterable(other)),
    };
    let mut width = 0.0;
    for row in &rows {
        width = length(row)?.number().unwrap_or(0.0).max(width);
    }
    let mut columns = Vec::new();
    let mut at = 0.0;
    while at < width {
        let column = rows
            .iter()
            .map(|row| access::get(row, &Val::Num(at)))
            .collect::<Result<Vec<_>, _>>()?;
        columns.push(column.into());
        at += 1.0;
    }
    Ok(columns.into())
}

/// The place of a value in a sorted array, or `-1 - n` where it would be the one at n.
fn search(value: &Val, wanted: &Val) -> Result<Val, Val> {
    let Val::Arr(items) = value else {
        return match length(value)?.number() {
            Some(0.0) => Ok(Val::Num(-1.0)),
            _ => Err(access::get(value, &Val::Num(0.0))
                .err()
                .unwrap_or_else(|| failure(value, "cannot be searched from"))),
        };
    };
    Ok(
        match items.binary_search_by(|item| compare_to_sort(item, wanted)) {
            Ok(at) => at.into(),
            Err(at) => Val::Num(-1.0 - at as f64),
        },
    )
}
