//! Continues a component in a build: it runs a program with folders of the build, and its memory becomes the initial
//! data of a new component with the same code.
//!
//! Such a base exports `exports` with a function `init`. The first call runs the program, and the second one writes the
//! memory to stdout. Its arguments do not matter: they are empty.

use std::io;
use std::path::PathBuf;

use wasmtime::component::types::{ComponentInstance, ComponentItem};
use wasmtime::component::{Component, Func, Linker, ResourceTable, ResourceType, Type, Val};
use wasmtime::{Engine, Store};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, add_to_linker_async};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use super::describe::reason;
use crate::PrepareError;
use crate::component::initial_data::put_in;
use crate::engine::memory::creator::with_memories;
use crate::sandbox::Sandbox;

/// Largest memory of a program, in bytes.
const MEMORY_MAX: usize = 1 << 30;

/// Most bytes that a program may print.
const PRINTED_MAX: usize = 1 << 20;

/// What programs may use. All other imports trap.
const SERVED: [&str; 6] = [
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:io/",
    "wasi:random/",
    "wasi:sockets/",
];

/// A folder that a program of a build sees.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuildFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Where the program sees it, such as `/library`.
    pub seen_as: String,
    /// Whether the program may change it.
    pub is_writable: bool,
}

impl BuildFolder {
    /// A folder that the program may read.
    pub fn new(path: impl Into<PathBuf>, seen_as: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            seen_as: seen_as.into(),
            is_writable: false,
        }
    }
}

/// Why a base could not be continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The base is not one, or cannot be prepared.
    #[error("the base cannot be used: {0}")]
    Base(#[from] PrepareError),
    /// A folder cannot be opened.
    #[error("{path} cannot be opened: {reason}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The program ended, or trapped.
    #[error("the program failed: {reason}")]
    Failed {
        /// The engine's reason.
        reason: String,
        /// What it printed.
        printed: String,
    },
}

impl Sandbox {
    /// Continues a base with folders, and returns the component with the memory that the program leaves. The base is
    /// compiled once, and a component with as much memory has its code.
    ///
    /// The program has the time, random numbers and the folders; no network, no environment. Nothing stops it while it
    /// computes: call this in a process that can be ended.
    ///
    /// # Errors
    /// [`ResumeError`] says what failed.
    pub async fn resume(
        &self,
        base: Vec<u8>,
        folders: &[BuildFolder],
    ) -> Result<Vec<u8>, ResumeError> {
        let (tool, _) = self.prepare(base.clone()).await?;
        let (stdout, stderr) = (
            MemoryOutputPipe::new(MEMORY_MAX + PRINTED_MAX),
            MemoryOutputPipe::new(PRINTED_MAX),
        );
        let state = BuildState {
            wasi: wasi(folders, &stdout, &stderr)?,
            table: ResourceTable::new(),
        };
        let code = tool.code();
        let mut printed = 0;
        let ran = async {
            let mut store = Store::new(&self.0.engine, state);
            store.set_epoch_deadline(u64::MAX / 2);
            store.set_hostcall_fuel(usize::MAX);
            let component = code.pre.component();
            let pre = linker(component)?.instantiate_pre(component)?;
            let instance = with_memories(&code.memory, pre.instantiate_async(&mut store)).await?;
            let interface = component.get_export_index(None, "exports");
            let init = interface.and_then(|it| component.get_export_index(Some(&it), "init"));
            let init = init.and_then(|init| instance.get_func(&mut store, init));
            let init =
                init.ok_or_else(|| wasmtime::Error::msg("it does not export `exports#init`"))?;
            call(&mut store, init).await?;
            printed = stdout.contents().len();
            call(&mut store, init).await
        };
        let ran: wasmtime::Result<()> = ran.await;
        let written = stdout.contents();
        let failed = |reason| {
            let text = [
                written.get(..printed).unwrap_or(&written),
                &stderr.contents(),
            ]
            .concat();
            ResumeError::Failed {
                reason,
                printed: String::from_utf8_lossy(&text).into_owned(),
            }
        };
        ran.map_err(|error| failed(reason(&error)))?;
        let memory = written.get(printed..).unwrap_or_default();
        put_in(&base, memory).ok_or_else(|| failed("it has no memory to continue with".to_owned()))
    }
}

/// What the program of a build has.
struct BuildState {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for BuildState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

fn wasi(
    folders: &[BuildFolder],
    stdout: &MemoryOutputPipe,
    stderr: &MemoryOutputPipe,
) -> Result<WasiCtx, ResumeError> {
    let mut wasi = WasiCtx::builder();
    wasi.allow_blocking_current_thread(true)
        .stdout(stdout.clone())
        .stderr(stderr.clone());
    for folder in folders {
        let permissions = if folder.is_writable {
            FsPerms::ReadWrite
        } else {
            FsPerms::ReadOnly
        };
        let preopen = wasi.preopened_dir(&folder.path, &folder.seen_as, permissions);
        preopen.map_err(|error| ResumeError::Folder {
            path: folder.path.clone(),
            reason: reason(&error),
        })?;
    }
    Ok(wasi.build())
}

fn linker(component: &Component) -> wasmtime::Result<Linker<BuildState>> {
    let engine = component.engine();
    let mut linker = Linker::new(engine);
    add_to_linker_async(&mut linker)?;
    let ty = component.component_type();
    for (name, item) in ty.imports(engine) {
        let is_served = SERVED.iter().any(|served| name.starts_with(served));
        if let (ComponentItem::ComponentInstance(instance), false) = (item.ty, is_served) {
            trap(&mut linker, engine, name, &instance)?;
        }
    }
    Ok(linker)
}

/// Defines an import whose functions trap.
fn trap(
    linker: &mut Linker<BuildState>,
    engine: &Engine,
    import: &str,
    ty: &ComponentInstance,
) -> wasmtime::Result<()> {
    let mut defined = linker.instance(import)?;
    for (name, item) in ty.exports(engine) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the engine's enum grows")]
        match item.ty {
            ComponentItem::ComponentFunc(_) => {
                let what = format!("{import}#{name} is not there while a tool is built");
                defined.func_new(name, move |_, _, _, _| {
                    Err(wasmtime::Error::msg(what.clone()))
                })?;
            }
            ComponentItem::Resource(_) => {
                // Those of wasi:io are the same in each interface that uses them.
                let ty = match name {
                    "input-stream" => ResourceType::host::<DynInputStream>(),
                    "output-stream" => ResourceType::host::<DynOutputStream>(),
                    "pollable" => ResourceType::host::<DynPollable>(),
                    "error" | "io-error" => ResourceType::host::<wasmtime::Error>(),
                    _ => ResourceType::host::<()>(),
                };
                defined.resource(name, ty, |_, _| Ok(()))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Calls the function with empty arguments.
async fn call(store: &mut Store<BuildState>, function: Func) -> wasmtime::Result<()> {
    let ty = function.ty(&*store);
    let arguments = ty.params().map(|(_, ty)| empty(&ty));
    let arguments: Vec<Val> = arguments
        .collect::<Option<_>>()
        .ok_or_else(|| wasmtime::Error::msg("`exports#init` has arguments of an unknown type"))?;
    let mut results = vec![Val::Bool(false); ty.results().len()];
    function
        .call_async(&mut *store, &arguments, &mut results)
        .await?;
    match results.first() {
        Some(Val::Result(Ok(_))) => Ok(()),
        _ => Err(io::Error::other("`exports#init` returned an error").into()),
    }
}

/// Returns the smallest value of a type.
#[expect(clippy::wildcard_enum_match_arm, reason = "the engine's enum grows")]
fn empty(ty: &Type) -> Option<Val> {
    Some(match ty {
        Type::Bool => Val::Bool(false),
        Type::String => Val::String(String::new()),
        Type::List(_) => Val::List(Vec::new()),
        Type::Record(record) => {
            let field = |field: wasmtime::component::types::Field<'_>| {
                Some((field.name.to_owned(), empty(&field.ty)?))
            };
            Val::Record(record.fields().map(field).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
