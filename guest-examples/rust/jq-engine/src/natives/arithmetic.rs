//! Operators.

use std::rc::Rc;

use crate::ast::Operator;
use crate::fault::error;
use crate::json::excerpt;
use crate::object::Object;
use crate::value::{Val, compare};

/// The longest text that a repetition makes, in bytes.
const MAX_REPEATED: usize = 1 << 29;

pub(crate) fn failure(value: &Val, what: &str) -> Val {
    error(format!("{} ({}) {what}", value.kind(), excerpt(value, 14)))
}

pub(crate) fn failure2(a: &Val, b: &Val, what: &str) -> Val {
    let (shown_a, shown_b) = (excerpt(a, 14), excerpt(b, 14));
    error(format!(
        "{} ({shown_a}) and {} ({shown_b}) {what}",
        a.kind(),
        b.kind()
    ))
}

pub(crate) fn negate(value: &Val) -> Result<Val, Val> {
    value
        .number()
        .map(|number| Val::Num(-number))
        .ok_or_else(|| failure(value, "cannot be negated"))
}

pub(crate) fn binary(operator: Operator, a: Val, b: Val) -> Result<Val, Val> {
    match operator {
        Operator::Add => add(a, b),
        Operator::Subtract => subtract(a, &b),
        Operator::Multiply => multiply(a, b),
        Operator::Divide => divide(&a, &b),
        Operator::Remainder => remainder(&a, &b),
        Operator::Equal => Ok(Val::Bool(a == b)),
        Operator::NotEqual => Ok(Val::Bool(a != b)),
        Operator::Less => Ok(Val::Bool(compare(&a, &b).is_lt())),
        Operator::LessOrEqual => Ok(Val::Bool(compare(&a, &b).is_le())),
        Operator::Greater => Ok(Val::Bool(compare(&a, &b).is_gt())),
        Operator::GreaterOrEqual => Ok(Val::Bool(compare(&a, &b).is_ge())),
    }
}

pub(crate) fn add(a: Val, b: Val) -> Result<Val, Val> {
    match (a, b) {
        (Val::Null, other) | (other, Val::Null) => Ok(other),
        (Val::Str(a), Val::Str(b)) => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(&a);
            text.push_str(&b);
            Ok(text.into())
        }
        (Val::Arr(mut a), Val::Arr(b)) => {
            Rc::make_mut(&mut a).extend(b.iter().cloned());
            Ok(Val::Arr(a))
        }
        (Val::Obj(mut a), Val::Obj(b)) => {
            let object = Rc::make_mut(&mut a);
            for (key, value) in b.iter() {
                object.insert(Rc::clone(key), value.clone());
            }
            Ok(Val::Obj(a))
        }
        (a, b) => match (a.number(), b.number()) {
            (Some(a), Some(b)) => Ok(Val::Num(a + b)),
            _ => Err(failure2(&a, &b, "cannot be added")),
        },
    }
}

fn subtract(a: Val, b: &Val) -> Result<Val, Val> {
    match (a, b) {
        (Val::Arr(mut a), Val::Arr(b)) => {
            Rc::make_mut(&mut a).retain(|item| !b.contains(item));
            Ok(Val::Arr(a))
        }
        (a, b) => match (a.number(), b.number()) {
            (Some(a), Some(b)) => Ok(Val::Num(a - b)),
            _ => Err(failure2(&a, b, "cannot be subtracted")),
        },
    }
}

fn multiply(a: Val, b: Val) -> Result<Val, Val> {
    match (a, b) {
        (Val::Str(text), times @ (Val::Num(_) | Val::Lit(_)))
        | (times @ (Val::Num(_) | Val::Lit(_)), Val::Str(text)) => {
            let times = times.number().unwrap_or(f64::NAN);
            if times < 0.0 || times.is_nan() {
                return Ok(Val::Null);
            }
            // As jq: the number is a whole one.
            let times = times as usize;
            if text.len().saturating_mul(times) > MAX_REPEATED {
                return Err(error("Repeat string result too long"));
            }
            Ok(text.repeat(times).into())
        }
        (Val::Obj(a), Val::Obj(b)) => Ok(merge(a, &b)),
        (a, b) => match (a.number(), b.number()) {
            (Some(a), Some(b)) => Ok(Val::Num(a * b)),
            _ => Err(failure2(&a, &b, "cannot be multiplied")),
        },
    }
}

/// Objects within objects are merged too.
fn merge(mut a: Rc<Object>, b: &Object) -> Val {
    let object = Rc::make_mut(&mut a);
    for (key, value) in b.iter() {
        let merged = match (object.get_mut(key).map(std::mem::take), value) {
            (Some(Val::Obj(inner)), Val::Obj(value)) => merge(inner, value),
            (_, value) => value.clone(),
        };
        object.insert(Rc::clone(key), merged);
    }
    Val::Obj(a)
}

fn divide(a: &Val, b: &Val) -> Result<Val, Val> {
    if let (Val::Str(text), Val::Str(separator)) = (a, b) {
        return Ok(split(text, separator));
    }
    match (a.number(), b.number()) {
        (Some(_), Some(0.0)) => Err(failure2(
            a,
            b,
            "cannot be divided because the divisor is zero",
        )),
        (Some(a), Some(b)) => Ok(Val::Num(a / b)),
        _ => Err(failure2(a, b, "cannot be divided")),
    }
}

fn remainder(a: &Val, b: &Val) -> Result<Val, Val> {
    let (Some(x), Some(y)) = (a.number(), b.number()) else {
        return Err(failure2(a, b, "cannot be divided (remainder)"));
    };
    if x.is_nan() || y.is_nan() {
        return Ok(Val::Num(f64::NAN));
    }
    let (x, y) = (x as i64, y as i64);
    if y == 0 {
        return Err(failure2(
            a,
            b,
            "cannot be divided (remainder) because the divisor is zero",
        ));
    }
    Ok(Val::Num(x.wrapping_rem(y) as f64))
}

pub(super) fn split(text: &str, separator: &str) -> Val {
    let parts: Vec<Val> = if text.is_empty() {
        Vec::new()
    } else if separator.is_empty() {
        text.chars()
            .map(|char| Val::from(char.encode_utf8(&mut [0; 4]) as &str))
            .collect()
    } else {
        text.split(separator).map(Val::from).collect()
    };
    parts.into()
}
