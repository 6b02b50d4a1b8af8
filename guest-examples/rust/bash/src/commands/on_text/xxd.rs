//! `xxd`: bytes in hexadecimal digits, and back.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec};
use crate::files::text_of;

mod revert;

/// Options may be long with one hyphen, so that they are read here.
pub(super) const XXD: Command = Command::new("xxd", Spec::raw(), xxd);

const MAX_COLUMNS: usize = 256;
/// The most bytes that `-r` writes: an offset may be anywhere.
const MAX_REVERTED: usize = 64 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Usual,
    Bits,
    LittleEndian,
    /// Digits alone.
    Plain,
    /// An array of C.
    Include,
}

struct Settings {
    style: Style,
    columns: Option<usize>,
    group: Option<usize>,
    length: Option<usize>,
    seek: i64,
    offset: i64,
    is_upper: bool,
    is_capital: bool,
    has_decimal_offsets: bool,
    skips_zeros: bool,
    reverts: bool,
    name: Option<String>,
}

/// Options by their first letters. Those with a value have it attached or as the next argument.
const OPTIONS: &str = "-a -b -C -c -d -e -g -i -l -n -o -p -r -s -u";

fn number(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        i64::from_str_radix(hex, 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    value.ok().map(|value: i64| value * sign)
}

fn settings(args: &[String]) -> Result<(Settings, Vec<String>), Failure> {
    let mut settings = Settings {
        style: Style::Usual,
        columns: None,
        group: None,
        length: None,
        seek: 0,
        offset: 0,
        is_upper: false,
        is_capital: false,
        has_decimal_offsets: false,
        skips_zeros: false,
        reverts: false,
        name: None,
    };
    let mut operands = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let option = arg.strip_prefix('-').filter(|name| !name.is_empty());
        let Some(option) = option.filter(|_| operands.is_empty()) else {
            operands.push(arg.clone());
            continue;
        };
        let option = option.strip_prefix('-').unwrap_or(option);
        let unknown = || {
            Failure::usage(format!(
                "the option {arg} is not implemented here; these are: {OPTIONS}"
            ))
        };
        let mut value = |long: &str| -> Result<String, Failure> {
            let attached = option.get(1..).unwrap_or_default();
            if attached.is_empty() || long.starts_with(option) || option == long {
                let next = args.next().cloned();
                return next
                    .ok_or_else(|| Failure::new(1, format!("option {arg} requires an argument")));
            }
            Ok(attached.to_owned())
        };
        let mut numeric = |long: &str| -> Result<i64, Failure> {
            let text = value(long)?;
            number(&text).ok_or_else(|| Failure::new(1, format!("{text}: invalid number")))
        };
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        match option.chars().next() {
            Some('a') => settings.skips_zeros = !settings.skips_zeros,
            Some('b') => settings.style = Style::Bits,
            Some('C') => settings.is_capital = true,
            Some('c') if option.starts_with("cap") => settings.is_capital = true,
            Some('c') => settings.columns = Some(count(numeric("cols")?)),
            Some('d') => settings.has_decimal_offsets = true,
            Some('e') => settings.style = Style::LittleEndian,
            Some('g') => settings.group = Some(count(numeric("groupsize")?)),
            Some('i') => settings.style = Style::Include,
            Some('l') => settings.length = Some(count(numeric("len")?)),
            Some('n') => settings.name = Some(value("name")?),
            Some('o') => settings.offset = numeric("offset")?,
            Some('p') => settings.style = Style::Plain,
            Some('r') => settings.reverts = true,
            Some('s') => settings.seek = numeric("seek")?,
            Some('u') => settings.is_upper = true,
            _ => return Err(unknown()),
        }
    }
    Ok((settings, operands))
}

fn xxd(call: &mut Call, _: &Line) -> Result<i32, Failure> {
    let (settings, operands) = settings(call.args)?;
    if operands.len() > 2 {
        return Err(Failure::new(1, "more than an input and an output file"));
    }
    let input = operands.first().map_or("-", String::as_str);
    let failure = |name: &str, error| Failure::new(2, format!("{name}: {}", text_of(&error)));
    let bytes = call.read(input).map_err(|error| failure(input, error))?;
    let columns = match settings.columns {
        Some(columns) if columns > MAX_COLUMNS && settings.style != Style::Plain => {
            return Err(Failure::new(1, "invalid number of columns (max. 256)."));
        }
        columns => columns.filter(|columns| *columns > 0 || settings.style == Style::Plain),
    };
    let out = if settings.reverts {
        let columns = columns.filter(|columns| *columns > 0).unwrap_or(16);
        let is_plain = settings.style == Style::Plain;
        revert::revert(&bytes, columns, is_plain, settings.seek, MAX_REVERTED)
            .map_err(|text| Failure::new(1, text))?
    } else {
        let start = if settings.seek < 0 {
            let back = usize::try_from(settings.seek.unsigned_abs()).unwrap_or(usize::MAX);
            bytes.len().saturating_sub(back)
        } else {
            usize::try_from(settings.seek)
                .unwrap_or(usize::MAX)
                .min(bytes.len())
        };
        let rest = bytes.get(start..).unwrap_or_default();
        let rest = rest.get(..settings.length.unwrap_or(rest.len()).min(rest.len()));
        let rest = rest.unwrap_or_default();
        let text = match settings.style {
            Style::Plain => plain(rest, columns.unwrap_or(30), settings.is_upper),
            Style::Include => {
                let named = settings.name.as_deref();
                let name = named.or(Some(input).filter(|input| *input != "-"));
                include(rest, name, columns.unwrap_or(12), &settings)
            }
            Style::Usual | Style::Bits | Style::LittleEndian => {
                rows(rest, start, columns, &settings)?
            }
        };
        text.into_bytes()
    };
    match operands.get(1) {
        Some(output) => call
            .write(output, &out)
            .map_err(|error| failure(output, error))?,
        None => call.print(out),
    }
    Ok(0)
}

fn digits(byte: u8, is_upper: bool) -> String {
    if is_upper {
        format!("{byte:02X}")
    } else {
        format!("{byte:02x}")
    }
}

fn plain(bytes: &[u8], columns: usize, is_upper: bool) -> String {
    let columns = if columns == 0 {
        bytes.len().max(1)
    } else {
        columns
    };
    let mut text = String::with_capacity(bytes.len() * 2 + bytes.len() / columns + 1);
    for row in bytes.chunks(columns) {
        text.extend(row.iter().map(|byte| digits(*byte, is_upper)));
        text.push('\n');
    }
    text
}

fn include(bytes: &[u8], name: Option<&str>, columns: usize, settings: &Settings) -> String {
    let columns = columns.max(1);
    let name = name.map(|name| {
        let is_letter = |char: char| char.is_ascii_alphanumeric();
        let mut name = name.replace(|char: char| !is_letter(char), "_");
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            name.insert_str(0, "__");
        }
        if settings.is_capital {
            name.to_uppercase()
        } else {
            name
        }
    });
    let mut text = String::new();
    if let Some(name) = &name {
        text.push_str(&format!("unsigned char {name}[] = {{\n"));
    }
    let rows = bytes.chunks(columns).map(|row| {
        let x = if settings.is_upper { 'X' } else { 'x' };
        let row = row
            .iter()
            .map(|byte| format!("0{x}{}", digits(*byte, settings.is_upper)));
        format!("  {}", row.collect::<Vec<_>>().join(", "))
    });
    text.push_str(&rows.collect::<Vec<_>>().join(",\n"));
    if !bytes.is_empty() {
        text.push('\n');
    }
    if let Some(name) = name {
        let length = if settings.is_capital { "LEN" } else { "len" };
        text.push_str(&format!(
            "}};\nunsigned int {name}_{length} = {};\n",
            bytes.len()
        ));
    }
    text
}

fn rows(
    bytes: &[u8],
    start: usize,
    columns: Option<usize>,
    settings: &Settings,
) -> Result<String, Failure> {
    let is_bits = settings.style == Style::Bits;
    let is_little = settings.style == Style::LittleEndian;
    let columns = columns.unwrap_or(if is_bits { 6 } else { 16 });
    let usual = match settings.style {
        Style::Bits => 1,
        Style::LittleEndian => 4,
        Style::Usual | Style::Plain | Style::Include => 2,
    };
    let group = settings.group.unwrap_or(usual);
    let group = if group < 1 || group > columns {
        columns
    } else {
        group
    };
    if is_little && !group.is_power_of_two() {
        let text = "number of octets per group must be a power of 2 with -e.";
        return Err(Failure::new(1, text));
    }
    let cell = if is_bits { 8 } else { 2 };
    let group_width = group * cell + 1;
    let mut text = String::new();
    let mut is_zero_before = 0;
    for (number, row) in bytes.chunks(columns).enumerate() {
        let is_last = (number + 1) * columns >= bytes.len();
        // Of more than two rows of zeros, one is written, and a star.
        if settings.skips_zeros && row.iter().all(|byte| *byte == 0) && !is_last {
            is_zero_before += 1;
            if is_zero_before > 1 {
                if is_zero_before == 2 {
                    text.push_str("*\n");
                }
                continue;
            }
        } else {
            is_zero_before = 0;
        }
        let place = i64::try_from(start + number * columns).unwrap_or(0) + settings.offset;
        let offset = if settings.has_decimal_offsets {
            format!("{place:08}")
        } else {
            format!("{place:08x}")
        };
        let ascii = 3 + (group_width * columns - 1) / group;
        let mut cells = vec![b' '; ascii];
        for (at, byte) in row.iter().enumerate() {
            let at = if is_little { at ^ (group - 1) } else { at };
            let column = 1 + at / group * group_width + at % group * cell;
            let shown = if is_bits {
                format!("{byte:08b}")
            } else {
                digits(*byte, settings.is_upper)
            };
            if cells.len() < column + cell {
                cells.resize(column + cell, b' ');
            }
            let place = cells.iter_mut().skip(column);
            for (place, digit) in place.zip(shown.bytes()) {
                *place = digit;
            }
        }
        cells.resize(ascii, b' ');
        text.push_str(&offset);
        text.push(':');
        text.push_str(&String::from_utf8_lossy(&cells));
        let visible = row.iter().map(|byte| match byte {
            32..=126 => char::from(*byte),
            _ => '.',
        });
        text.extend(visible);
        text.push('\n');
    }
    Ok(text)
}
