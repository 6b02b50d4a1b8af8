//! The rows of the tables: each way to do a work, ready to be called, or why it cannot be measured.

use std::path::Path;

use tokio::runtime::Handle;

use super::caller::Caller;
use super::code_modes;
use super::engine::EngineAlone;
use super::extism::{Extism, Instances};
use super::ours::Ours;
use super::pipe::PipeCalls;
use super::programs::Program;
use super::spawned::SpawnedCalls;
use super::works::{PROGRAM, Work};
use crate::raw::Pool;

/// The row that the others are compared with.
pub(super) const OURS: &str = "toolhost";
pub(super) const ENGINE: &str = "engine alone";
pub(super) const TUNED: &str = "engine alone, tuned";
pub(super) const EXTISM: &str = "Extism, a plug-in per call";
pub(super) const EXTISM_KEPT: &str = "Extism, one plug-in";
pub(super) const BUN: &str = "Bun, one process";
pub(super) const BUN_SPAWNED: &str = "Bun, a process per call";
pub(super) const NODE: &str = "Node, one process";
pub(super) const NODE_SPAWNED: &str = "Node, a process per call";
pub(super) const PYTHON_SPAWNED: &str = "CPython, a process per call";
pub(super) const JAQ: &str = "jaq, one process";
pub(super) const JAQ_KEPT: &str = "jaq, one process, query kept";

/// Processes that live from call to call.
const PIPES: [(&str, Program); 8] = [
    (BUN, Program::Bun),
    (NODE, Program::Node),
    ("CPython, one process", Program::Python),
    (JAQ, Program::Jaq),
    (JAQ_KEPT, Program::JaqKept),
    ("@ai-sdk/code-mode", Program::AiSdk),
    ("@utcp/code-mode", Program::Utcp),
    ("pydantic-monty", Program::Monty),
];

/// A process for each call.
const SPAWNED: [(&str, Program); 3] = [
    (BUN_SPAWNED, Program::Bun),
    (NODE_SPAWNED, Program::Node),
    (PYTHON_SPAWNED, Program::Python),
];

/// A way to do a work.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Why it is not measured, if so.
    pub(super) caller: Result<Box<dyn Caller>, String>,
}

/// What can do works.
pub(super) struct Peers {
    runtime: Handle,
    ours: Ours,
    engines: [(&'static str, Result<EngineAlone, String>); 2],
    extism: Result<Extism, String>,
}

impl Peers {
    pub(super) fn new(runtime: &Handle, workdir: &Path) -> Self {
        let engine = |pool| EngineAlone::new(runtime, pool);
        Self {
            runtime: runtime.clone(),
            ours: Ours::new(runtime),
            engines: [
                (ENGINE, engine(Pool::small())),
                (TUNED, engine(Pool::tuned())),
            ],
            extism: Extism::new(workdir),
        }
    }

    /// Prepares a work in all that can do it, and checks one output of each.
    pub(super) fn rows(&self, work: &Work, workdir: &Path) -> Vec<Row> {
        let mut rows = match work.key {
            PROGRAM => {
                let callers = code_modes::callers(OURS, &self.runtime, work, workdir);
                let row = |(name, caller)| Row { name, caller };
                callers.map(row).into()
            }
            _ => self.tool_rows(work, workdir),
        };
        let mut add = |name, caller| rows.push(Row { name, caller });
        for (name, program) in PIPES.iter().filter(|(_, program)| program.does(work)) {
            let started = PipeCalls::start(*program, work, workdir);
            add(
                name,
                started.map(|calls| Box::new(calls) as Box<dyn Caller>),
            );
        }
        // A start takes the same time whatever the work is.
        let starts: &[_] = if work.key == "echo-32" { &SPAWNED } else { &[] };
        for (name, program) in starts {
            let ready = SpawnedCalls::new(*program, work, workdir);
            add(name, ready.map(|calls| Box::new(calls) as Box<dyn Caller>));
        }
        for row in &mut rows {
            if let Ok(caller) = &mut row.caller {
                let output = caller.once();
                let (name, title) = (row.name, &work.title);
                assert!(
                    output.contains(&work.expects),
                    "{name}, {title}: {output:.200}"
                );
            }
        }
        rows
    }
    /// Prepares a work in one tool of toolhost, and in what runs its component, or another one.
    fn tool_rows(&self, work: &Work, workdir: &Path) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut add = |name, caller| rows.push(Row { name, caller });
        add(OURS, self.ours.prepare(work, workdir));
        for (name, engine) in &self.engines {
            let prepared = engine.as_ref().map_err(Clone::clone);
            add(name, prepared.map(|engine| engine.prepare(work, workdir)));
        }
        if Extism::does(work) {
            let instances = [(EXTISM, Instances::Fresh), (EXTISM_KEPT, Instances::Kept)];
            for (name, instances) in instances {
                let prepared = self.extism.as_ref().map_err(Clone::clone);
                add(name, prepared.map(|extism| extism.prepare(work, instances)));
            }
        }
        rows
    }
}
