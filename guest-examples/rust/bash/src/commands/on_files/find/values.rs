//! Values of primaries: signs of numbers, kinds of files, sizes.

use std::cmp::Ordering;

use bashkit::FileType;

use super::expression::{Amount, Primary};
use crate::commands::call::Failure;

fn wrong(text: impl Into<String>) -> Failure {
    Failure::new(1, text)
}

/// Reads the sign of a number: `+` is more, `-` is less.
pub(super) fn order(text: &str) -> (Ordering, &str) {
    if let Some(digits) = text.strip_prefix('+') {
        (Ordering::Greater, digits)
    } else if let Some(digits) = text.strip_prefix('-') {
        (Ordering::Less, digits)
    } else {
        (Ordering::Equal, text)
    }
}

pub(super) fn kinds(name: &str, text: &str) -> Result<Vec<FileType>, Failure> {
    if text.is_empty() {
        return Err(wrong(format!(
            "Arguments to {name} should contain at least one letter"
        )));
    }
    let mut kinds = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(letter) = chars.next() {
        kinds.push(match letter {
            'f' => FileType::File,
            'd' => FileType::Directory,
            'l' => FileType::Symlink,
            'b' | 'c' | 'p' | 's' => FileType::Fifo,
            _ => return Err(wrong(format!("Unknown argument to {name}: {letter}"))),
        });
        match chars.next() {
            None => {}
            Some(',') if chars.peek().is_some() => {}
            Some(',') => {
                return Err(wrong(format!(
                    "Last file type in list argument to {name} is missing, i.e., list is ending on: ','"
                )));
            }
            Some(_) => {
                return Err(wrong(format!(
                    "Must separate multiple arguments to {name} using: ','"
                )));
            }
        }
    }
    Ok(kinds)
}

pub(super) fn size(text: &str) -> Result<Primary, Failure> {
    if text.is_empty() {
        return Err(wrong("invalid null argument to -size"));
    }
    let (order, number) = order(text);
    let end = number
        .find(|char: char| !char.is_ascii_digit())
        .unwrap_or(number.len());
    let (digits, suffix) = number.split_at(end);
    let unit = match suffix {
        "" | "b" => 512,
        "c" => 1,
        "w" => 2,
        "k" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        other => {
            let last = other.chars().last().unwrap_or_default();
            return Err(wrong(format!("invalid -size type `{last}'")));
        }
    };
    let number = digits
        .parse()
        .map_err(|_| wrong(format!("Invalid argument `{text}' to -size")))?;
    let amount = Amount { order, number };
    Ok(Primary::Size { amount, unit })
}
