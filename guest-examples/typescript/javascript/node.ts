/** The modules of Node that a program can import. */
import assert from 'node:assert';
import buffer from 'node:buffer';
import crypto from 'node:crypto';
import events from 'node:events';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import perfHooks from 'node:perf_hooks';
import process from 'node:process';
import stream from 'node:stream';
import stringDecoder from 'node:string_decoder';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import url from 'node:url';
import util from 'node:util';
import zlib from 'node:zlib';

type Exports = Record<string, unknown>;

const MODULES: Record<string, unknown> = {
  assert,
  buffer,
  crypto,
  events,
  fs,
  'fs/promises': fsPromises,
  os,
  path,
  perf_hooks: perfHooks,
  process,
  stream,
  string_decoder: stringDecoder,
  timers,
  'timers/promises': timersPromises,
  url,
  util,
  zlib,
};

/** Returns the exports of a module of Node, if there is one of this name. */
export function nodeModule(name: string): Exports | undefined {
  const plain = name.replace(/^node:/, '');
  if (!Object.hasOwn(MODULES, plain)) {
    if (plain === name) return undefined;
    throw Object.assign(new Error(`No such built-in module: ${name}`), { code: 'ERR_UNKNOWN_BUILTIN_MODULE' });
  }
  const exported = MODULES[plain] as Exports;
  return Object.assign(Object.create(exported) as Exports, { default: exported });
}
