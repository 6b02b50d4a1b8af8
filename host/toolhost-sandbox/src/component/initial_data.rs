//! Takes the initial data of a component's memory out of the component.
//!
//! The engine would copy the data into the memory of each new instance. The host maps it instead: see
//! [`crate::engine::memory`].

use std::ops::Range;

use wasmparser::{Data, DataKind, MemoryType, Operator, Parser, Payload, TypeRef};

use crate::engine::memory::image::{InitialData, PAGE};

/// The id of a custom section.
const CUSTOM: u8 = 0;

/// The header of a module or a component, in bytes.
const HEADER: usize = 8;

/// A memory that grew begins with a multiple of this, in bytes.
const STEP: usize = 4 << 20;

/// Zeros between data that end a segment, in bytes.
const BLOCK: usize = 32;

/// Zeros between data that are kept with it, in bytes, beside as many as there is data. Tools in TypeScript have 2 to
/// 4 MiB: a stack, and room for calls.
const MOST_ZEROS: usize = 8 << 20;

/// Takes the data of one memory out of a component that was checked, and leaves out its custom sections: the rest decides
/// the compiled code. None where no memory has data, where the memory cannot be distinguished from another when it is made, where the data cannot be known before the
/// component is instantiated, or where it would make the instantiation fail.
pub(crate) fn take_out(component: &[u8]) -> Option<(Vec<u8>, InitialData)> {
    let memory = memory_with_most_data(modules(component)?)?;
    let data = initial_data(&memory)?;
    let mut section = Vec::new();
    if memory.counts_segments {
        // As many segments as before, as instructions name them by index. After instantiation, active
        // segments are empty as well.
        write_leb(&mut section, u32::try_from(memory.segments.len()).ok()?);
        for segment in &memory.segments {
            match segment.kind {
                DataKind::Active { .. } => section.extend([1, 0]),
                DataKind::Passive => section.extend(component.get(segment.range.clone())?),
            }
        }
    } else {
        // No instruction names a segment.
        write_leb(&mut section, 0);
    }
    let without = replace_section(component, &memory.section, &section)?;
    Some((without_custom_sections(&without)?, data))
}

/// Leaves out what a component says about itself, such as the sources it was built from: it is not compiled.
/// The sections of its modules stay, as they have the names of functions.
fn without_custom_sections(component: &[u8]) -> Option<Vec<u8>> {
    let mut result = component.get(..HEADER)?.to_vec();
    let mut at = HEADER;
    while let Some(id) = component.get(at) {
        let (len, bytes) = read_leb(component.get(at + 1..)?)?;
        let end = (at + 1 + bytes).checked_add(len)?;
        let section = component.get(at..end)?;
        if *id != CUSTOM {
            result.extend(section);
        }
        at = end;
    }
    Some(result)
}

/// Returns the component with other data in the memory that has most: all of `memory`, which may be larger than the
/// memory was. It then begins with a multiple of [`STEP`], so that components of one kind have few different sizes.
/// `None` where the component has no such memory, or instructions that name its segments.
pub(crate) fn put_in(component: &[u8], memory: &[u8]) -> Option<Vec<u8>> {
    let target = memory_with_most_data(modules(component)?)?;
    if target.counts_segments {
        return None;
    }
    let with_data = replace_section(component, &target.section, &segments(memory)?)?;
    if memory.len() <= minimum(&target.ty)? {
        return Some(with_data);
    }
    let target = memory_with_most_data(modules(&with_data)?)?;
    let pages = memory.len().next_multiple_of(STEP) / PAGE;
    let mut section = vec![1, u8::from(target.ty.maximum.is_some())];
    write_leb(&mut section, u32::try_from(pages).ok()?);
    if let Some(most) = target.ty.maximum {
        write_leb(&mut section, u32::try_from(most).ok()?);
    }
    replace_section(&with_data, &target.memory_section, &section)
}

/// Returns a data section with what is not zero.
fn segments(memory: &[u8]) -> Option<Vec<u8>> {
    let is_zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (block, at) in memory.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        if is_zero(block) {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.end == at => last.end = at + block.len(),
            Some(_) | None => runs.push(at..at + block.len()),
        }
    }
    // Without the zeros of the first and the last block.
    let is_data = |byte: &u8| *byte != 0;
    let segments: Vec<(usize, &[u8])> = runs
        .into_iter()
        .filter_map(|run| {
            let bytes = memory.get(run.clone())?;
            let (first, last) = (
                bytes.iter().position(is_data)?,
                bytes.iter().rposition(is_data)?,
            );
            Some((run.start + first, bytes.get(first..=last)?))
        })
        .collect();
    let mut section = Vec::with_capacity(memory.len());
    write_leb(&mut section, u32::try_from(segments.len()).ok()?);
    for (start, bytes) in segments {
        section.extend([0, 0x41]);
        write_signed_leb(
            &mut section,
            i64::from(u32::try_from(start).ok()?.cast_signed()),
        );
        section.push(0x0b);
        write_leb(&mut section, u32::try_from(bytes.len()).ok()?);
        section.extend(bytes);
    }
    Some(section)
}

/// What a module declares.
#[derive(Default)]
struct Module<'a> {
    imports_memory: bool,
    memories: Vec<MemoryType>,
    /// The contents of the memory section.
    memory_section: Range<usize>,
    segments: Vec<Data<'a>>,
    /// Whether it has the section without which no instruction may name a segment.
    counts_segments: bool,
    /// The contents of the data section.
    section: Range<usize>,
}

/// A memory and the data section of its module.
struct Memory<'a> {
    ty: MemoryType,
    /// The contents of the memory section.
    memory_section: Range<usize>,
    segments: Vec<Data<'a>>,
    counts_segments: bool,
    /// The contents of the section.
    section: Range<usize>,
}

/// The modules of a component and of those within it.
fn modules(component: &[u8]) -> Option<Vec<Module<'_>>> {
    let mut modules = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum grows")]
        match payload.ok()? {
            Payload::ModuleSection { .. } => modules.push(Module::default()),
            Payload::ImportSection(imports) => {
                let module = modules.last_mut()?;
                for import in imports.into_imports() {
                    module.imports_memory |= matches!(import.ok()?.ty, TypeRef::Memory(_));
                }
            }
            Payload::MemorySection(memories) => {
                let module = modules.last_mut()?;
                module.memory_section = memories.range();
                let memories = memories.into_iter().collect::<Result<_, _>>();
                module.memories = memories.ok()?;
            }
            Payload::DataCountSection { .. } => modules.last_mut()?.counts_segments = true,
            Payload::DataSection(data) => {
                let module = modules.last_mut()?;
                module.section = data.range();
                module.segments = data.into_iter().collect::<Result<_, _>>().ok()?;
            }
            _ => {}
        }
    }
    Some(modules)
}

/// The only memory of the module with the most data, if no other memory of the component begins with as many
/// bytes: the engine says no more than that of a memory when it makes one.
fn memory_with_most_data(mut modules: Vec<Module<'_>>) -> Option<Memory<'_>> {
    let all: Vec<_> = modules.iter().flat_map(|m| m.memories.clone()).collect();
    modules.retain(|module| !module.imports_memory && module.memories.len() == 1);
    let bytes = |module: &Module<'_>| module.segments.iter().map(|s| s.data.len()).sum::<usize>();
    let most = modules.into_iter().max_by_key(bytes)?;
    let ty = *most.memories.first()?;
    let begins_alike = |other: &&MemoryType| minimum(other) == minimum(&ty);
    (all.iter().filter(begins_alike).count() == 1).then_some(Memory {
        ty,
        memory_section: most.memory_section,
        segments: most.segments,
        counts_segments: most.counts_segments,
        section: most.section,
    })
}

/// Bytes that a memory begins with. None where they cannot be addressed.
fn minimum(ty: &MemoryType) -> Option<usize> {
    let page = match ty.page_size_log2 {
        Some(log2) => 1_usize.checked_shl(log2)?,
        None => PAGE,
    };
    usize::try_from(ty.initial).ok()?.checked_mul(page)
}

/// What the active segments write, in their order.
fn initial_data(memory: &Memory<'_>) -> Option<InitialData> {
    if memory.ty.memory64 || memory.ty.shared || memory.ty.page_size_log2.is_some() {
        return None;
    }
    let minimum = minimum(&memory.ty)?;
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
        if end > minimum {
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
        minimum,
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
            let is_target = *target == (start..end);
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

fn write_signed_leb(to: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        to.push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
        value >>= 7;
    }
    to.push(u8::try_from(value & 0x7f).unwrap_or_default());
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

    /// The id of a data section.
    const DATA: u8 = 11;

    /// A section with these contents.
    fn section(id: u8, contents: &[u8]) -> Vec<u8> {
        let mut section = vec![id];
        write_leb(&mut section, u32::try_from(contents.len()).unwrap());
        section.extend(contents);
        section
    }

    /// A module with a memory of two pages, and this data section.
    fn module(data: &[u8]) -> Vec<u8> {
        [empty_module(2), section(DATA, data)].concat()
    }

    /// The same with a section that counts the segments.
    fn counting_module(data: &[u8]) -> Vec<u8> {
        let count = section(12, data.get(..1).unwrap());
        [empty_module(2), count, section(DATA, data)].concat()
    }

    /// A module with a memory of so many pages.
    fn empty_module(pages: u8) -> Vec<u8> {
        [b"\0asm\x01\0\0\0".as_slice(), &section(5, &[1, 0, pages])].concat()
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
        component(&[section(4, &named(module)), name()])
    }

    fn named(module: &[u8]) -> Vec<u8> {
        component(&[section(1, module), name()])
    }

    fn name() -> Vec<u8> {
        section(CUSTOM, &[&[1, b'n'], [7; 200].as_slice()].concat())
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
        let (without, taken) = take_out(&nested(&counting_module(&data))).unwrap();
        // A later segment writes over an earlier one. The passive segment stays, with its index.
        let rest = counting_module(&[3, 1, 0, 1, 2, 8, 9, 1, 0]);
        let outer = |module: &[u8]| component(&[section(4, &named(module))]);
        assert_eq!(without, outer(&rest));
        assert_eq!((taken.offset, taken.bytes.len()), (0, PAGE));
        assert_eq!(taken.bytes.get(..6).unwrap(), b"\0abde\0");
        assert!(taken.bytes.iter().skip(5).all(|byte| *byte == 0));
        // Nothing is left to take out.
        assert_eq!(take_out(&without), None);
        // Without the count, no instruction can name a segment.
        let (without, same) = take_out(&nested(&module(&data))).unwrap();
        assert_eq!(without, outer(&module(&[0])));
        assert_eq!(same, taken);
    }

    #[test]
    fn other_data_is_put_in_and_a_memory_that_grew_begins_larger() {
        let before = nested(&module(&[&[1], active(1, b"abc").as_slice()].concat()));
        for (bytes, minimum) in [(2 * PAGE, 2 * PAGE), (3 * PAGE, STEP), (STEP + 1, 2 * STEP)] {
            let mut memory = vec![0; bytes];
            for at in [0, 31, 32, 70, 200, PAGE + 63] {
                memory[at] = 7;
            }
            let changed = put_in(&before, &memory).unwrap();
            let (without, taken) = take_out(&changed).unwrap();
            assert_eq!(taken.minimum, minimum);
            assert_eq!(memory.get(..2 * PAGE).unwrap(), taken.bytes);
            assert!(changed.len() < before.len() + 100);
            let same = bytes == 2 * PAGE;
            assert_eq!(without == take_out(&before).unwrap().0, same);
        }
        let counting = nested(&counting_module(
            &[&[1], active(1, b"abc").as_slice()].concat(),
        ));
        assert_eq!(put_in(&counting, &vec![0; 2 * PAGE]), None);
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
    }

    #[test]
    fn data_is_taken_out_of_the_memory_with_most_of_it() {
        let with = |bytes| section(1, &module(&[&[1], active(1, bytes).as_slice()].concat()));
        let (less, most) = (with(b"ab"), with(b"abc"));
        let empty = |pages| section(1, &empty_module(pages));
        let without = section(1, &module(&[0]));
        let whole = component(&[empty(1), most.clone(), empty(3)]);
        let (component_without, taken) = take_out(&whole).unwrap();
        assert_eq!(component_without, component(&[empty(1), without, empty(3)]));
        assert_eq!((taken.minimum, taken.bytes.len()), (2 * PAGE, PAGE));
        // Two memories begin with two pages: the host could give the data to the wrong one.
        for other in [empty(2), most.clone(), less] {
            assert_eq!(take_out(&component(&[other, most.clone()])), None);
        }
    }

    #[test]
    fn data_that_is_mostly_zeros_stays() {
        let memory = section(5, &[1, 0, 0xac, 2]);
        let last = [0, 0x41, 0x80, 0x80, 0x80, 8, 0x0b, 1, 1];
        let data = section(DATA, &[&[2], active(1, b"a").as_slice(), &last].concat());
        let sparse = [b"\0asm\x01\0\0\0".as_slice(), &memory, &data].concat();
        assert_eq!(take_out(&component(&[section(1, &sparse)])), None);
    }
}
