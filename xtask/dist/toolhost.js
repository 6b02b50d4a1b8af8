#!/usr/bin/env node
// Starts the program of the package for this platform.

'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const PACKAGES = { 'linux x64': 'toolhost-cli-linux-x64-gnu' };

function program() {
  const platform = `${process.platform} ${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) {
    throw new Error(`toolhost has no package for ${platform}: build it from source, with cargo`);
  }
  try {
    return require.resolve(`${name}/toolhost`);
  } catch {
    throw new Error(`${name} is not installed: install toolhost-cli again, with optional dependencies`);
  }
}

let path;
try {
  path = program();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(2);
}
const child = spawn(path, process.argv.slice(2), { stdio: 'inherit' });
// The program ends its work; this process waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`error: ${path} cannot be started: ${error.message}`);
  process.exit(2);
});
child.on('exit', (code, signal) => {
  process.exit(code ?? 128 + constants.signals[signal]);
});
