//! Builds the tools of the demo, and runs it.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{child, guests, wasip2};

/// Runs the demo on the bundle of examples.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let started = Instant::now();
    step(1, "a Rust compiler for wasm32-wasip2");
    let compiler = wasip2::setup(workspace)?;
    step(2, "five small tools, compiled to WASI components");
    guests::build_for_demo(workspace, &compiler)?;
    step(
        3,
        "the host with its WebAssembly engine, once: some minutes",
    );
    let program = workspace.built("toolhost-demo", "toolhost-demo")?;
    println!("demo: built in {:.0} s", started.elapsed().as_secs_f64());
    step(4, "run it");
    let mut demo = Command::new(program);
    demo.arg("--bundle")
        .arg(workspace.examples().join("goondan.yaml"))
        .arg("--guests")
        .arg(workspace.guests())
        .args(args);
    child::run(&mut demo)
}

fn step(number: u32, what: &str) {
    println!("demo: step {number} of 4: {what}");
}
