//! Takes the initial data of a component's memory out of the component.
//!
//! The engine would copy the data into the memory of each new instance. The host maps it instead: see
//! [`crate::engine::memory`].

use std::ops::Range;

use wasmparser::{Data, DataKind, MemoryType, Operator, Parser, Payload, TypeRef};

use crate::engine::memory::image::{InitialData, PAGE};

/// The id of a data section.
const DATA: u8 = 11;

/// The header of a module or a component, in bytes.
const HEADER: usize = 8;

/// Zeros between data that are kept with it, in bytes, beside as many as there is data.
const MOST_ZEROS: usize = 1 << 20;

/// Takes the data out of a component that was checked. None where it has no memory or several, or where
/// its data cannot be known before it is instantiated, or would make the instantiation fail.
pub(crate) fn take_out(component: &[u8]) -> Option<(Vec<u8>, InitialData)> {
    let memory = only_memory(component)?;
    let data = initial_data(&memory)?;
    // As many segments as before, as instructions name them by index. After instantiation, active
    // segments are empty as well.
    let count = u32::try_from(memory.segments.len()).ok()?;
    let mut section = Vec::new();
    write_leb(&mut section, count);
    for segment in &memory.segments {
        match segment.kind {
            DataKind::Active { .. } => section.extend([1, 0]),
            DataKind::Passive => section.extend(component.get(segment.range.clone())?),
        }
    }
    let without = replace_section(component, &memory.section, &section)?;
    Some((without, data))
}

/// A memory and the data section of its module.
struct Memory<'a> {
    ty: MemoryType,
    segments: Vec<Data<'a>>,
    /// The contents of the section.
    section: Range<usize>,
}

/// The only memory that any module of a component defines, if its module imports none.
fn only_memory(component: &[u8]) -> Option<Memory<'_>> {
    let (mut module, mut imports_memory) = (0, false);
    let mut memory: Option<(usize, MemoryType)> = None;
    let mut found = None;
    for payload in Parser::new(0).parse_all(component) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum grows")]
        match payload.ok()? {
            Payload::ModuleSection { .. } => {
                module += 1;
                imports_memory = false;
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    imports_memory |= matches!(import.ok()?.ty, TypeRef::Memory(_));
                }
            }
            Payload::MemorySection(memories) => {
                for ty in memories {
                    if memory.replace((module, ty.ok()?)).is_some() || imports_memory {
                        return None;
                    }
                }
            }
            Payload::DataSection(data) => {
                if let Some((_, ty)) = memory.filter(|(of, _)| *of == module) {
                    let section = data.range();
                    let segments = data.into_iter().collect::<Result<_, _>>().ok()?;
                    found = Some(Memory {
                        ty,
                        segments,
                        section,
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// What the active segments write, in their order.
fn initial_data(memory: &Memory<'_>) -> Option<InitialData> {
    if memory.ty.memory64 || memory.ty.shared || memory.ty.page_size_log2.is_some() {
        return None;
    }
    let end_of_memory = usize::try_from(memory.ty.initial).ok()?.checked_mul(PAGE)?;
    let mut active = Vec::new();
    for segment in &memory.segments {
        let DataKind::Active {
            memory_index,
            offset_expr,
        } = &segment.kind
        else {
            continue;
        };
        // The module has one memory, so any other is an error that the compiler is to report.
        if *memory_index != 0 {
            return None;
        }
        let mut operators = offset_expr.get_operators_reader();
        let Ok(Operator::I32Const { value }) = operators.read() else {
            return None;
        };
        if !matches!(operators.read(), Ok(Operator::End)) {
            return None;
        }
        let start = usize::try_from(value.cast_unsigned()).ok()?;
        let end = start.checked_add(segment.data.len())?;
        if end > end_of_memory {
            return None;
        }
        active.push((start..end, segment.data));
    }
    active.retain(|(_, bytes)| !bytes.is_empty());
    let start = active.iter().map(|(range, _)| range.start).min()? / PAGE * PAGE;
    let end = active.iter().map(|(range, _)| range.end).max()?;
    let end = end.next_multiple_of(PAGE);
    let sum: usize = active.iter().map(|(range, _)| range.len()).sum();
    if end - start > sum.saturating_mul(2).saturating_add(MOST_ZEROS) {
        return None;
    }
    let mut bytes = vec![0; end - start];
    for (range, data) in active {
        let written = bytes.get_mut(range.start - start..range.end - start)?;
        written.copy_from_slice(data);
    }
    Some(InitialData {
        offset: start,
        bytes,
    })
}

/// Replaces the contents of the section at `target` in a module or a component that may contain others.
fn replace_section(outer: &[u8], target: &Range<usize>, contents: &[u8]) -> Option<Vec<u8>> {
    let mut result = outer.get(..HEADER)?.to_vec();
    let mut at = HEADER;
    while at < outer.len() {
        let id = *outer.get(at)?;
        let (len, bytes) = read_leb(outer.get(at + 1..)?)?;
        let start = at + 1 + bytes;
        let end = start.checked_add(len)?;
        let section = outer.get(start..end)?;
        if start <= target.start && target.end <= end && !target.is_empty() {
            let is_target = id == DATA && *target == (start..end);
            let replaced = if is_target {
                contents.to_vec()
            } else {
                let within = target.start - start..target.end - start;
                replace_section(section, &within, contents)?
            };
            result.push(id);
            write_leb(&mut result, u32::try_from(replaced.len()).ok()?);
            result.extend(replaced);
        } else {
            result.extend(outer.get(at..end)?);
        }
        at = end;
    }
    Some(result)
}

/// Reads an unsigned LEB128 of at most 32 bits. Returns it and its length.
fn read_leb(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok()?, index + 1));
        }
    }
    None
}

fn write_leb(to: &mut Vec<u8>, mut value: u32) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            to.push(low);
            return;
        }
        to.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section with these contents.
    fn section(id: u8, contents: &[u8]) -> Vec<u8> {
        let mut section = vec![id];
        write_leb(&mut section, u32::try_from(contents.len()).unwrap());
        section.extend(contents);
        section
    }

    /// A module with a memory of two pages, and this data section.
    fn module(data: &[u8]) -> Vec<u8> {
        let memory = section(5, &[1, 0, 2]);
        [b"\0asm\x01\0\0\0".as_slice(), &memory, &section(DATA, data)].concat()
    }

    fn component(sections: &[Vec<u8>]) -> Vec<u8> {
        [b"\0asm\x0d\0\x01\0".as_slice(), &sections.concat()].concat()
    }

    /// An active segment at an offset below 64.
    fn active(offset: u8, bytes: &[u8]) -> Vec<u8> {
        let len = u8::try_from(bytes.len()).unwrap();
        [&[0, 0x41, offset, 0x0b, len], bytes].concat()
    }

    /// Nested once, with a name of 200 bytes behind it, so that lengths take two bytes.
    fn nested(module: &[u8]) -> Vec<u8> {
        let name = section(0, &[&[1, b'n'], [7; 200].as_slice()].concat());
        let inner = component(&[section(1, module), name.clone()]);
        component(&[section(4, &inner), name])
    }

    #[test]
    fn data_is_taken_out_and_the_rest_stays() {
        let data = [
            vec![3],
            active(1, b"abc"),
            vec![1, 2, 8, 9],
            active(3, b"de"),
        ]
        .concat();
        let (without, taken) = take_out(&nested(&module(&data))).unwrap();
        // A later segment writes over an earlier one. The passive segment stays, with its index.
        assert_eq!(without, nested(&module(&[3, 1, 0, 1, 2, 8, 9, 1, 0])));
        assert_eq!((taken.offset, taken.bytes.len()), (0, PAGE));
        assert_eq!(taken.bytes.get(..6).unwrap(), b"\0abde\0");
        assert!(taken.bytes.iter().skip(5).all(|byte| *byte == 0));
        // Nothing is left to take out.
        assert_eq!(take_out(&without), None);
    }

    #[test]
    fn data_that_instantiation_alone_can_place_stays() {
        let plain = module(&[&[1], active(1, b"abc").as_slice()].concat());
        assert!(take_out(&nested(&plain)).is_some());
        // The offset is a global; the last page has no room for it; the file ends early.
        let global = module(&[1, 0, 0x23, 0, 0x0b, 1, 1]);
        let beyond = module(&[1, 0, 0x41, 0xff, 0xff, 7, 0x0b, 2, 1, 1]);
        let whole = nested(&plain);
        let cut = whole.get(..whole.len() - 1).unwrap();
        // A memory that the module does not have: the compiler must see it, and refuse the module.
        let other = module(&[1, 2, 1, 0x41, 1, 0x0b, 1, 1]);
        for refused in [&nested(&global), &nested(&beyond), &nested(&other), cut] {
            assert_eq!(take_out(refused), None);
        }
        // Which of the memories an instance gets first is not known here.
        let two = component(&[section(1, &plain), section(1, &plain)]);
        assert_eq!(take_out(&two), None);
    }

    #[test]
    fn data_that_is_mostly_zeros_stays() {
        let memory = section(5, &[1, 0, 100]);
        let last = [0, 0x41, 0x80, 0x80, 0x80, 2, 0x0b, 1, 1];
        let data = section(DATA, &[&[2], active(1, b"a").as_slice(), &last].concat());
        let sparse = [b"\0asm\x01\0\0\0".as_slice(), &memory, &data].concat();
        assert_eq!(take_out(&component(&[section(1, &sparse)])), None);
    }
}
