/** `node:fs/promises`. The host's file calls do not wait, so each is the synchronous one. */
export { constants } from '../fs/constants';
import * as content from '../fs/content';
import { opendirSync } from '../fs/dir';
import { FileHandle, openSync } from '../fs/descriptors';
import * as tree from '../fs/tree';

function later<A extends unknown[], R>(act: (...args: A) => R): (...args: A) => Promise<R> {
  return async (...args) => act(...args);
}

export const open = later((path: Parameters<typeof openSync>[0], flag?: string | number) => new FileHandle(openSync(path, flag)));
export const opendir = later(opendirSync);
export const readFile = later(content.readFileSync);
export const writeFile = later(content.writeFileSync);
export const appendFile = later(content.appendFileSync);
export const truncate = later(content.truncateSync);
export const access = later(tree.accessSync);
export const chmod = later(tree.chmodSync);
export const chown = later(tree.chownSync);
export const copyFile = later(tree.copyFileSync);
export const cp = later(tree.cpSync);
export const link = later(tree.linkSync);
export const lstat = later(tree.lstatSync);
export const mkdir = later(tree.mkdirSync);
export const mkdtemp = later(tree.mkdtempSync);
export const readdir = later(tree.readdirSync);
export const readlink = later(tree.readlinkSync);
export const realpath = later(tree.realpathSync);
export const rename = later(tree.renameSync);
export const rm = later(tree.rmSync);
export const rmdir = later(tree.rmdirSync);
export const stat = later(tree.statSync);
export const symlink = later(tree.symlinkSync);
export const unlink = later(tree.unlinkSync);
export const utimes = later(tree.utimesSync);
