/** The module `toolhost/agents`: other agents, if the operator's policy grants them. */
import * as wit from 'goondan:tool/agents';
import { toValue } from './input';
import { toJson } from './output';

interface Options {
  target: string;
  input: unknown;
  instanceKey?: string;
  eventType?: string;
  timeoutMs?: number;
  async?: boolean;
  metadata?: object;
}

/** Converts a request to the contract's record, with JSON as text. */
function record({ input, metadata, ...rest }: Options): object {
  return { ...rest, input: toJson(input, 'input'), metadata: metadata && toJson(metadata, 'metadata') };
}

/** Converts an error of the contract to one that can be thrown. */
async function call<T>(act: () => T): Promise<T> {
  try {
    return act();
  } catch (error) {
    const fields = (error as { payload?: object })?.payload ?? error;
    if (fields instanceof Error || typeof fields !== 'object' || fields === null) throw error;
    throw Object.assign(new Error(), fields);
  }
}

export function request(options: Options): Promise<object> {
  return call(() => {
    const { response, ...rest } = wit.request(record(options));
    return { ...rest, response: response ? toValue(response, 'response') : undefined };
  });
}

export function send(options: Options): Promise<object> {
  return call(() => wit.send(record(options)));
}

export function spawn(target: string, instanceKey?: string): Promise<object> {
  return call(() => wit.spawn(target, instanceKey));
}

export function list(): Promise<unknown> {
  return call(() => JSON.parse(wit.list()));
}

export function catalog(): Promise<object[]> {
  return call(() => wit.catalog());
}

export default { request, send, spawn, list, catalog };
