//! How many columns of a terminal a character takes.

const WIDE: [(u32, u32); 16] = [
    (0x1100, 0x115F),
    (0x231A, 0x231B),
    (0x23E9, 0x23EC),
    (0x2E80, 0x303E),
    (0x3041, 0x33FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA000, 0xA4CF),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE6F),
    (0xFF00, 0xFF60),
    (0xFFE0, 0xFFE6),
    (0x1F300, 0x1FAFF),
    (0x20000, 0x3FFFD),
];

const NARROW: [(u32, u32); 5] = [
    (0x0300, 0x036F),
    (0x200B, 0x200F),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
];

pub(super) fn width(char: char) -> u64 {
    let code = u32::from(char);
    let is_in = |ranges: &[(u32, u32)]| {
        ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&code))
    };
    match code {
        0..0x20 | 0x7F => 0,
        0x20..0x300 => 1,
        _ if is_in(&NARROW) => 0,
        _ if is_in(&WIDE) => 2,
        _ => 1,
    }
}
