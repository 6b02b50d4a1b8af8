//! A script for `ed` that puts changes into the first file.

use super::blocks::{Block, Kind};
use super::{Texts, Wishes};
use crate::commands::call::Call;

/// Writes the script, from the last block to the first. Returns whether there are conflicts.
pub(super) fn print(call: &mut Call, texts: &Texts, blocks: &[Block], wishes: &Wishes) -> bool {
    let [mine, older, yours] = &texts.labels;
    let mut has_conflicts = false;
    for block in blocks.iter().rev() {
        let kind = texts.kind(block);
        let Some(is_conflict) = wishes.conflict(kind) else {
            continue;
        };
        let (low, high) = texts.range(block, 0);
        let (second, third) = (texts.of(block, 1), texts.of(block, 2));
        if is_conflict {
            has_conflicts = true;
            call.print(format!("{high}a\n"));
            let mut has_dot = false;
            if kind == Kind::All {
                if wishes.shows_second {
                    call.print(format!("||||||| {older}\n"));
                    has_dot = put(call, second);
                }
                call.print("=======\n");
                has_dot |= put(call, third);
            }
            call.print(format!(">>>>>>> {yours}\n.\n"));
            take_dots(call, has_dot, high + 2, second.len() + third.len() + 1);
            let first = if kind == Kind::All { mine } else { older };
            call.print(format!("{}a\n<<<<<<< {first}\n", low - 1));
            has_dot = false;
            if kind == Kind::Second {
                has_dot = put(call, second);
                call.print("=======\n");
            }
            call.print(".\n");
            take_dots(call, has_dot, low + 1, second.len());
            continue;
        }
        let count = (high + 1) - low;
        if third.is_empty() {
            let place = if count == 1 {
                low.to_string()
            } else {
                format!("{low},{high}")
            };
            call.print(format!("{place}d\n"));
            continue;
        }
        call.print(match count {
            0 => format!("{high}a\n"),
            1 => format!("{high}c\n"),
            _ => format!("{low},{high}c\n"),
        });
        let has_dot = put(call, third);
        call.print(".\n");
        take_dots(call, has_dot, low, third.len());
    }
    if wishes.saves {
        call.print("w\nq\n");
    }
    has_conflicts
}

/// Writes lines; a dot at the start of one is doubled. Returns whether there was such a dot.
fn put(call: &mut Call, lines: &[&[u8]]) -> bool {
    let mut has_dot = false;
    for line in lines {
        if line.starts_with(b".") {
            has_dot = true;
            call.print(".");
        }
        call.print(line);
    }
    has_dot
}

/// Writes the command that takes doubled dots away.
fn take_dots(call: &mut Call, has_dot: bool, start: usize, count: usize) {
    if !has_dot {
        return;
    }
    let place = if count == 1 {
        start.to_string()
    } else {
        format!("{start},{}", start + count - 1)
    };
    call.print(format!("{place}s/^\\.//\n"));
}
