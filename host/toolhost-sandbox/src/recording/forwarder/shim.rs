//! The core modules of the forwarder: a memory, and a function for each imported one.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "of the many types of values, a function treats all but a few alike"
)]

use wasm_encoder::{
    BlockType, CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, ImportSection, InstructionSink, MemArg, MemorySection, MemoryType,
    Module, TypeSection, ValType,
};
use wasmtime::component::Type;

use crate::recording::imports::{ImportedFunction, Imports};

/// Most core parameters; beyond them, one points to all.
const MAX_PARAMS: usize = 16;

/// Where the memory begins to be given out.
const HEAP: i32 = 16;

/// Bytes of a core value in memory, at most.
const VALUE_BYTES: i32 = 8;

/// A borrowed handle among the core parameters, which the callee has to drop.
enum Borrowed {
    /// The handle in a parameter.
    One { param: u32, resource: usize },
    /// A list of handles, whose address and length are two parameters.
    List { param: u32, resource: usize },
}

/// A function as core code sees it.
pub(super) struct CoreSignature {
    params: Vec<ValType>,
    result: Vec<ValType>,
    borrowed: Vec<Borrowed>,
}

impl CoreSignature {
    /// # Errors
    /// The function takes borrowed handles in a way that is not known here.
    pub(super) fn of(imports: &Imports, function: &ImportedFunction) -> Result<Self, String> {
        let (mut params, mut borrowed) = (Vec::new(), Vec::new());
        let unknown = || {
            format!(
                "{} takes borrowed handles within other values",
                function.name
            )
        };
        for (_, ty) in &function.params {
            let param = u32::try_from(params.len()).map_err(|_| unknown())?;
            let resource = |ty| imports.resource(ty).ok_or_else(unknown);
            match ty {
                Type::Borrow(ty) => {
                    let resource = resource(ty)?;
                    borrowed.push(Borrowed::One { param, resource });
                }
                Type::List(list) => match list.ty() {
                    Type::Borrow(ty) => {
                        let resource = resource(&ty)?;
                        borrowed.push(Borrowed::List { param, resource });
                    }
                    other if borrows(&other) => return Err(unknown()),
                    _ => {}
                },
                other if borrows(other) => return Err(unknown()),
                _ => {}
            }
            flatten(ty, &mut params);
        }
        if params.len() > MAX_PARAMS {
            if !borrowed.is_empty() {
                return Err(unknown());
            }
            params = vec![ValType::I32];
        }
        let mut result = Vec::new();
        if let Some(ty) = &function.result {
            flatten(ty, &mut result);
        }
        Ok(Self {
            params,
            result,
            borrowed,
        })
    }

    /// Whether the result is written to memory.
    fn is_indirect(&self) -> bool {
        self.result.len() > 1
    }

    /// Results of the exported function.
    fn returned(&self) -> Vec<ValType> {
        if self.is_indirect() {
            vec![ValType::I32]
        } else {
            self.result.clone()
        }
    }

    /// Parameters of the imported function.
    fn lowered(&self) -> Vec<ValType> {
        let address = self.is_indirect().then_some(ValType::I32);
        self.params.iter().copied().chain(address).collect()
    }

    /// Results of the imported function.
    fn lowered_result(&self) -> Vec<ValType> {
        if self.is_indirect() {
            Vec::new()
        } else {
            self.result.clone()
        }
    }

    /// Bytes of the result in memory, at most.
    fn result_bytes(&self) -> i32 {
        i32::try_from(self.result.len()).map_or(i32::MAX, |values| values * VALUE_BYTES)
    }
}

/// Whether values of a type hold borrowed handles.
fn borrows(ty: &Type) -> bool {
    match ty {
        Type::Borrow(_) => true,
        Type::List(list) => borrows(&list.ty()),
        Type::Option(option) => borrows(&option.ty()),
        Type::Record(record) => record.fields().any(|field| borrows(&field.ty)),
        Type::Tuple(tuple) => tuple.types().any(|ty| borrows(&ty)),
        Type::Variant(variant) => variant
            .cases()
            .any(|case| case.ty.is_some_and(|ty| borrows(&ty))),
        Type::Result(result) => {
            let mut both = [result.ok(), result.err()].into_iter().flatten();
            both.any(|ty| borrows(&ty))
        }
        _ => false,
    }
}

/// Adds the core values of a type, as the canonical ABI passes them.
fn flatten(ty: &Type, flat: &mut Vec<ValType>) {
    match ty {
        Type::S64 | Type::U64 => flat.push(ValType::I64),
        Type::Float32 => flat.push(ValType::F32),
        Type::Float64 => flat.push(ValType::F64),
        Type::String | Type::List(_) => flat.extend([ValType::I32, ValType::I32]),
        Type::Record(record) => record.fields().for_each(|field| flatten(&field.ty, flat)),
        Type::Tuple(tuple) => tuple.types().for_each(|ty| flatten(&ty, flat)),
        Type::Flags(flags) => {
            let words = flags.names().len().div_ceil(32);
            flat.extend(std::iter::repeat_n(ValType::I32, words));
        }
        Type::Variant(variant) => {
            flatten_cases(variant.cases().map(|case| case.ty).collect(), flat);
        }
        Type::Option(option) => flatten_cases(vec![None, Some(option.ty())], flat),
        Type::Result(result) => flatten_cases(vec![result.ok(), result.err()], flat),
        _ => flat.push(ValType::I32),
    }
}

fn flatten_cases(cases: Vec<Option<Type>>, flat: &mut Vec<ValType>) {
    let mut joined: Vec<ValType> = Vec::new();
    for ty in cases.iter().flatten() {
        let mut payload = Vec::new();
        flatten(ty, &mut payload);
        for (at, value) in payload.into_iter().enumerate() {
            match joined.get_mut(at) {
                Some(known) => *known = join(*known, value),
                None => joined.push(value),
            }
        }
    }
    flat.push(ValType::I32);
    flat.extend(joined);
}

fn join(one: ValType, other: ValType) -> ValType {
    match (one, other) {
        (one, other) if one == other => one,
        (ValType::I32, ValType::F32) | (ValType::F32, ValType::I32) => ValType::I32,
        _ => ValType::I64,
    }
}

/// A memory of which each call takes as much as it needs, from the beginning.
pub(super) fn memory_module() -> Module {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32; 4], [ValType::I32]);
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(0).function(1);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut globals = GlobalSection::new();
    let next = GlobalType {
        val_type: ValType::I32,
        mutable: true,
        shared: false,
    };
    globals.global(next, &wasm_encoder::ConstExpr::i32_const(HEAP));
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    exports.export("realloc", ExportKind::Func, 0);
    exports.export("reset", ExportKind::Func, 1);
    let mut code = CodeSection::new();
    code.function(&realloc());
    let mut reset = Function::new([]);
    reset.instructions().i32_const(HEAP).global_set(0).end();
    code.function(&reset);
    let mut module = Module::new();
    module
        .section(&types)
        .section(&functions)
        .section(&memories);
    module.section(&globals).section(&exports).section(&code);
    module
}

/// `realloc(old, old-size, align, new-size)`: nothing is given back before the call ends.
fn realloc() -> Function {
    const PAGE: i32 = 64 << 10;
    let (old, old_size, align, size, at) = (0, 1, 2, 3, 4);
    let mut function = Function::new([(1, ValType::I32)]);
    let mut code = function.instructions();
    // at = (next + align - 1) & -align
    code.global_get(0)
        .local_get(align)
        .i32_add()
        .i32_const(1)
        .i32_sub();
    code.i32_const(0)
        .local_get(align)
        .i32_sub()
        .i32_and()
        .local_tee(at);
    // next = at + size
    code.local_get(size).i32_add().global_set(0);
    // Grows the memory where it ends before `next`.
    code.global_get(0)
        .memory_size(0)
        .i32_const(PAGE)
        .i32_mul()
        .i32_gt_u();
    code.if_(BlockType::Empty);
    code.global_get(0)
        .memory_size(0)
        .i32_const(PAGE)
        .i32_mul()
        .i32_sub();
    code.i32_const(PAGE - 1).i32_add().i32_const(16).i32_shr_u();
    code.memory_grow(0).i32_const(-1).i32_eq();
    code.if_(BlockType::Empty).unreachable().end();
    code.end();
    code.local_get(at).local_get(old);
    code.local_get(old_size).local_get(size);
    code.local_get(old_size).local_get(size).i32_lt_u().select();
    code.memory_copy(0, 0);
    code.local_get(at).end();
    function
}

/// For each function `fN` of the host, a function `fN` that calls it, and `pN` that ends the call.
pub(super) fn shim_module(functions: &[(usize, &CoreSignature)]) -> Module {
    let mut types = TypeSection::new();
    let mut count = 0;
    let mut add_type = |params: &[ValType], results: &[ValType]| {
        types
            .ty()
            .function(params.iter().copied(), results.iter().copied());
        count += 1;
        count - 1
    };
    let mut imports = ImportSection::new();
    let memory = MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    };
    imports.import("memory", "memory", EntityType::Memory(memory));
    let realloc = add_type(&[ValType::I32; 4], &[ValType::I32]);
    imports.import("memory", "realloc", EntityType::Function(realloc));
    let reset = add_type(&[], &[]);
    imports.import("memory", "reset", EntityType::Function(reset));
    let (realloc, reset, mut imported) = (0, 1, 2);
    let drop_type = add_type(&[ValType::I32], &[]);
    // The function that drops handles of each resource.
    let mut drops = std::collections::BTreeMap::new();
    for borrowed in functions.iter().flat_map(|(_, core)| &core.borrowed) {
        let (Borrowed::One { resource, .. } | Borrowed::List { resource, .. }) = borrowed;
        drops.entry(*resource).or_insert_with(|| {
            let name = format!("d{resource}");
            imports.import("host", &name, EntityType::Function(drop_type));
            imported += 1;
            imported - 1
        });
    }
    let mut hosts = Vec::new();
    for (index, core) in functions {
        let ty = add_type(&core.lowered(), &core.lowered_result());
        imports.import("host", &format!("f{index}"), EntityType::Function(ty));
        hosts.push(imported);
        imported += 1;
    }
    let (mut defined, mut exports, mut code) = (
        FunctionSection::new(),
        ExportSection::new(),
        CodeSection::new(),
    );
    let mut next = imported;
    for ((index, core), host) in functions.iter().zip(hosts) {
        defined.function(add_type(&core.params, &core.returned()));
        exports.export(&format!("f{index}"), ExportKind::Func, next);
        code.function(&forward(core, host, realloc, &drops));
        defined.function(add_type(&core.returned(), &[]));
        exports.export(&format!("p{index}"), ExportKind::Func, next + 1);
        let mut post = Function::new([]);
        post.instructions().call(reset).end();
        code.function(&post);
        next += 2;
    }
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&defined);
    module.section(&exports).section(&code);
    module
}

/// Calls the function of the host, and drops the handles that were borrowed.
fn forward(
    core: &CoreSignature,
    host: u32,
    realloc: u32,
    drops: &std::collections::BTreeMap<usize, u32>,
) -> Function {
    let params = u32::try_from(core.params.len()).unwrap_or(u32::MAX);
    let (address, at) = (params, params + 1);
    let mut function = Function::new([(2, ValType::I32)]);
    let mut code = function.instructions();
    (0..params).for_each(|param| {
        code.local_get(param);
    });
    if core.is_indirect() {
        code.i32_const(0).i32_const(0).i32_const(VALUE_BYTES);
        code.i32_const(core.result_bytes())
            .call(realloc)
            .local_tee(address);
    }
    code.call(host);
    for borrowed in &core.borrowed {
        match borrowed {
            Borrowed::One { param, resource } => {
                if let Some(drop) = drops.get(resource) {
                    code.local_get(*param).call(*drop);
                }
            }
            Borrowed::List { param, resource } => {
                if let Some(drop) = drops.get(resource) {
                    drop_list(&mut code, *param, at, *drop);
                }
            }
        }
    }
    if core.is_indirect() {
        code.local_get(address);
    }
    code.end();
    function
}

/// Drops the handles of a list.
fn drop_list(code: &mut InstructionSink<'_>, list: u32, at: u32, drop: u32) {
    let word = MemArg {
        offset: 0,
        align: 2,
        memory_index: 0,
    };
    code.i32_const(0).local_set(at);
    code.block(BlockType::Empty).loop_(BlockType::Empty);
    code.local_get(at).local_get(list + 1).i32_ge_u().br_if(1);
    code.local_get(list)
        .local_get(at)
        .i32_const(4)
        .i32_mul()
        .i32_add();
    code.i32_load(word).call(drop);
    code.local_get(at).i32_const(1).i32_add().local_set(at);
    code.br(0).end().end();
}
