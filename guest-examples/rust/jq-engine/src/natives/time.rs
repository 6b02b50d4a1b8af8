//! Dates. The time zone is UTC.

mod calendar;
mod read;
mod write;

use self::calendar::Time;
use self::read::parse;
use self::write::write;
use super::arrays::arg;
use super::{Native, native};
use crate::fault::error;
use crate::value::Val;

pub(super) const TABLE: &[Native] = &[
    native("gmtime", 0, |input, _| {
        broken_down(&input, "gmtime() requires numeric inputs")
    }),
    native("localtime", 0, |input, _| {
        broken_down(&input, "localtime() requires numeric inputs")
    }),
    native("mktime", 0, |input, _| {
        let Val::Arr(items) = &input else {
            return Err(error("mktime requires array inputs"));
        };
        let time = Time::from_array(items)
            .ok_or_else(|| error("mktime requires parsed datetime inputs"))?;
        match time.seconds() {
            -1 => Err(error("invalid gmtime representation")),
            seconds => Ok(Val::Num(seconds as f64)),
        }
    }),
    native("strftime", 1, |input, args| {
        format(&input, arg(args, 0), "strftime/1")
    }),
    native("_strflocaltime", 1, |input, args| {
        format(&input, arg(args, 0), "strflocaltime/1")
    }),
    native("strptime", 1, |input, args| match (&input, arg(args, 0)) {
        (Val::Str(text), Val::Str(format)) => parse(text, format),
        _ => Err(error("strptime/1 requires string inputs and arguments")),
    }),
];

fn broken_down(input: &Val, refusal: &str) -> Result<Val, Val> {
    let seconds = input.number().ok_or_else(|| error(refusal))?;
    let failed = || error("error converting number of seconds since epoch to datetime");
    let time = Time::from_seconds(seconds as i64).ok_or_else(failed)?;
    Ok(time
        .array(time.second as f64 + (seconds - seconds.floor()))
        .into())
}

fn format(input: &Val, pattern: &Val, name: &str) -> Result<Val, Val> {
    let input = match input {
        Val::Num(_) | Val::Lit(_) => broken_down(input, "")?,
        Val::Arr(_) => input.clone(),
        _ => return Err(error(format!("{name} requires parsed datetime inputs"))),
    };
    let Val::Str(pattern) = pattern else {
        return Err(error(format!("{name} requires a string format")));
    };
    let Val::Arr(items) = &input else {
        return Err(error(format!("{name} requires parsed datetime inputs")));
    };
    let time = Time::from_array(items)
        .ok_or_else(|| error(format!("{name} requires parsed datetime inputs")))?;
    let mut text = String::new();
    write(&time, pattern, &mut text);
    if text.is_empty() {
        return Err(error(format!("{name}: unknown system failure")));
    }
    Ok(text.into())
}
