//! Custom sections at the end of a component. Engines ignore them.

/// The number of bytes of a component before its first section.
const PREAMBLE: usize = 8;

/// The id of custom sections.
const CUSTOM: u8 = 0;

/// Appends a section with this name and payload.
pub(super) fn append(component: &mut Vec<u8>, name: &str, payload: &[u8]) {
    let mut body = Vec::with_capacity(payload.len() + name.len() + 5);
    write_length(&mut body, name.len());
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(payload);
    component.push(CUSTOM);
    write_length(component, body.len());
    component.extend_from_slice(&body);
}

/// Returns the payload of the last section with this name; `None` if there is none, or the binary is invalid.
pub(super) fn find<'c>(component: &'c [u8], name: &str) -> Option<&'c [u8]> {
    let mut rest = component.get(PREAMBLE..)?;
    let mut last = None;
    while let Some((id, after)) = rest.split_first() {
        let (length, after) = read_length(after)?;
        let (section, after) = after.split_at_checked(length)?;
        if *id == CUSTOM {
            last = payload(section, name).or(last);
        }
        rest = after;
    }
    last
}

fn payload<'c>(section: &'c [u8], name: &str) -> Option<&'c [u8]> {
    let (length, rest) = read_length(section)?;
    let (other, payload) = rest.split_at_checked(length)?;
    (other == name.as_bytes()).then_some(payload)
}

/// Writes a length in LEB128.
fn write_length(bytes: &mut Vec<u8>, mut length: usize) {
    loop {
        let low = u8::try_from(length & 0x7f).unwrap_or_default();
        length >>= 7;
        if length == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = 0_usize;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        length |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((length, bytes.get(index + 1..)?));
        }
    }
    None
}
