//! Changes the release of WASI 0.2 that a component imports.

/// The number of the section of a component's imports.
const IMPORTS: u8 = 10;

/// Returns the component with every WASI import in another version.
///
/// Copies all sections; replaces the names, with their lengths, in the section of imports.
///
/// # Panics
/// Panics if the bytes are not a component.
#[must_use]
pub fn importing(version: &str, component: &[u8]) -> Vec<u8> {
    let (preamble, mut rest) = component.split_at(8);
    let mut made = preamble.to_vec();
    while let Some((id, after)) = rest.split_first() {
        let (size, contents) = read_leb(after);
        let (section, after) = contents.split_at(size);
        let section = match *id {
            IMPORTS => renamed(version, section),
            _ => section.to_vec(),
        };
        made.push(*id);
        write_leb(&mut made, section.len());
        made.extend(section);
        rest = after;
    }
    made
}

fn renamed(version: &str, section: &[u8]) -> Vec<u8> {
    let mut made = Vec::new();
    let mut at = 0;
    while at < section.len() {
        // A name is its length, which takes one byte for WASI names, and its text.
        let first = section.get(at).copied().unwrap_or_default();
        let length = usize::from(first);
        let name = section
            .get(at + 1..at + 1 + length)
            .and_then(|name| std::str::from_utf8(name).ok());
        match name.and_then(|name| name.split_once("@0.2.")) {
            Some((interface, _)) if interface.starts_with("wasi:") => {
                let name = format!("{interface}@{version}");
                made.push(u8::try_from(name.len()).expect("it is short"));
                made.extend(name.bytes());
                at += 1 + length;
            }
            _ => {
                made.push(first);
                at += 1;
            }
        }
    }
    made
}

fn read_leb(bytes: &[u8]) -> (usize, &[u8]) {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return (value, bytes.get(place + 1..).unwrap_or_default());
        }
    }
    panic!("a truncated number")
}

fn write_leb(to: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}
