//! `tr`: bytes for other bytes.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag};

mod set;

use set::{Item, Set};

const SPEC: Spec = Spec::new(&[
    flag('c', "complement"),
    flag('C', ""),
    flag('d', "delete"),
    flag('s', "squeeze-repeats"),
    flag('t', "truncate-set1"),
])
.ends_at_operand();

pub(super) const TR: Command = Command::new("tr", SPEC, tr);

const TRY: &str = "\nTry 'tr --help' for more information.";

fn tr(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let complement = line.has("complement") || line.has("C");
    let (deletes, squeezes) = (line.has("delete"), line.has("squeeze-repeats"));
    let wrong = |text: String| Err(Failure::new(1, format!("{text}{TRY}")));
    let (first, second) = match &*line.operands {
        [] => return wrong("missing operand".to_owned()),
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        [.., extra] => return wrong(format!("extra operand {}", call.quoted(extra))),
    };
    match second {
        None if deletes == squeezes => {
            let why = if deletes {
                "Two strings must be given when both deleting and squeezing repeats."
            } else {
                "Two strings must be given when translating."
            };
            return wrong(format!(
                "missing operand after {}\n{why}",
                call.quoted(first)
            ));
        }
        Some(extra) if deletes && !squeezes => {
            let why = "Only one string may be given when deleting without squeezing repeats.";
            return wrong(format!("extra operand {}\n{why}", call.quoted(extra)));
        }
        _ => {}
    }
    let read = |text: &String| {
        Set::read(text, |name| call.quoted(name)).map_err(|text| Failure::new(1, text))
    };
    let one = read(first)?;
    let two = second.map(read).transpose()?;
    let members = one.members(complement);
    if deletes {
        let mut out: Vec<u8> = Vec::new();
        let squeezed = two.map(|set| set.members(false));
        for byte in call.stdin {
            if members.contains(byte) {
                continue;
            }
            let repeats = squeezed.as_ref().is_some_and(|set| set.contains(byte));
            if !(repeats && out.last() == Some(byte)) {
                out.push(*byte);
            }
        }
        call.print(out);
        return Ok(0);
    }
    let Some(two) = two else {
        let table = std::array::from_fn(byte_of);
        return Ok(print(call, &table, Some(&members)));
    };
    let table = translation(&one, &two, &members, complement, line.has("truncate-set1"))?;
    let squeezed = squeezes.then(|| two.members(false));
    Ok(print(call, &table, squeezed.as_deref()))
}

fn byte_of(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(0)
}

fn print(call: &mut Call, table: &[u8; 256], squeezed: Option<&[u8]>) -> i32 {
    let mut out = Vec::with_capacity(call.stdin.len());
    let mut repeats = [false; 256];
    for byte in squeezed.unwrap_or_default() {
        if let Some(repeat) = repeats.get_mut(usize::from(*byte)) {
            *repeat = true;
        }
    }
    for byte in call.stdin {
        let byte = table.get(usize::from(*byte)).copied().unwrap_or(*byte);
        let squeezes = repeats.get(usize::from(byte)).copied().unwrap_or(false);
        if !(squeezes && out.last() == Some(&byte)) {
            out.push(byte);
        }
    }
    call.print(out);
    0
}

fn translation(
    one: &Set,
    two: &Set,
    members: &[u8],
    complement: bool,
    truncates: bool,
) -> Result<[u8; 256], Failure> {
    let wrong = |text: &str| Err(Failure::new(1, text));
    let mut table: [u8; 256] = std::array::from_fn(byte_of);
    let mut put = |from: u8, to: u8| {
        if let Some(entry) = table.get_mut(usize::from(from)) {
            *entry = to;
        }
    };
    let cases = |item: &Item| matches!(item, Item::Class("upper" | "lower"));
    if two
        .items
        .iter()
        .any(|item| matches!(item, Item::Class(_)) && !cases(item))
    {
        return wrong(
            "when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'",
        );
    }
    if !complement && two.items.iter().any(cases) {
        // Pairs such as [:upper:] [:lower:] change the case.
        let (mut from, mut to) = (one.items.iter(), two.items.iter());
        loop {
            match (from.next(), to.next()) {
                (Some(Item::Class(left)), Some(Item::Class(right)))
                    if cases(&Item::Class(left)) =>
                {
                    for byte in 0..=255_u8 {
                        match (*left, *right) {
                            ("lower", "upper") if byte.is_ascii_lowercase() => {
                                put(byte, byte.to_ascii_uppercase())
                            }
                            ("upper", "lower") if byte.is_ascii_uppercase() => {
                                put(byte, byte.to_ascii_lowercase())
                            }
                            _ => {}
                        }
                    }
                }
                (Some(left), Some(right)) if !cases(right) => {
                    let (left, right) = (left.bytes(1), right.bytes(1));
                    if left.len() != right.len() {
                        return wrong("misaligned [:upper:] and/or [:lower:] construct");
                    }
                    left.into_iter()
                        .zip(right)
                        .for_each(|(from, to)| put(from, to));
                }
                (None, None) => return Ok(table),
                _ => return wrong("misaligned [:upper:] and/or [:lower:] construct"),
            }
        }
    }
    let targets = two.expanded(members.len());
    let Some(last) = targets.last() else {
        if truncates {
            return Ok(table);
        }
        return wrong("when not truncating set1, string2 must be non-empty");
    };
    for (index, from) in members.iter().enumerate() {
        match targets.get(index) {
            Some(to) => put(*from, *to),
            None if truncates => break,
            None => put(*from, *last),
        }
    }
    Ok(table)
}
