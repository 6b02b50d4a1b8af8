//! The order of names with version numbers, as `sort -V` and `ls -v` have it.

use std::cmp::Ordering;

pub(crate) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    if one == other {
        return Ordering::Equal;
    }
    // Nothing, `.` and `..` come first, then names that begin with a dot.
    match (one.is_empty(), other.is_empty()) {
        (true, _) => return Ordering::Less,
        (_, true) => return Ordering::Greater,
        _ => {}
    }
    match (one.first() == Some(&b'.'), other.first() == Some(&b'.')) {
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        (true, true) => {
            for name in [b".".as_slice(), b".."] {
                match (one == name, other == name) {
                    (true, _) => return Ordering::Less,
                    (_, true) => return Ordering::Greater,
                    _ => {}
                }
            }
        }
        _ => {}
    }
    let (stem, other_stem) = (stem(one), stem(other));
    let order = parts(stem, other_stem);
    let order = order.then_with(|| parts(one, other));
    order.then_with(|| one.cmp(other))
}

/// A name without its endings, such as `.tar.gz`.
fn stem(name: &[u8]) -> &[u8] {
    let mut end = name.len();
    loop {
        let start = name.get(..end).unwrap_or_default();
        let Some(dot) = start.iter().rposition(|byte| *byte == b'.') else {
            return start;
        };
        let ending = start.get(dot + 1..).unwrap_or_default();
        let begins = ending
            .first()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'~');
        let is_ending = begins
            && ending
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'~');
        if !is_ending || dot == 0 {
            return start;
        }
        end = dot;
    }
}

/// Letters before other characters, `~` before all, even before the end.
fn rank(byte: Option<u8>) -> i32 {
    match byte {
        Some(b'~') => -1,
        None => 0,
        Some(byte) if byte.is_ascii_digit() => 0,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(byte),
        Some(byte) => i32::from(byte) + 256,
    }
}

fn parts(mut one: &[u8], mut other: &[u8]) -> Ordering {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    while !one.is_empty() || !other.is_empty() {
        loop {
            let (left, right) = (one.first().copied(), other.first().copied());
            let text = |byte: Option<u8>| byte.is_some_and(|byte| !byte.is_ascii_digit());
            if !text(left) && !text(right) {
                break;
            }
            let order = rank(left).cmp(&rank(right));
            if order != Ordering::Equal {
                return order;
            }
            one = one.get(1..).unwrap_or_default();
            other = other.get(1..).unwrap_or_default();
        }
        let zeros = |text: &[u8]| text.iter().take_while(|byte| **byte == b'0').count();
        one = one.get(zeros(one)..).unwrap_or_default();
        other = other.get(zeros(other)..).unwrap_or_default();
        let count = |text: &[u8]| text.iter().take_while(|byte| is_digit(byte)).count();
        let (left, rest) = one.split_at(count(one));
        let (right, other_rest) = other.split_at(count(other));
        let order = left.len().cmp(&right.len()).then_with(|| left.cmp(right));
        if order != Ordering::Equal {
            return order;
        }
        (one, other) = (rest, other_rest);
    }
    Ordering::Equal
}
