/** Converts a thrown value to the contract's `tool-error`. */
import { inspect } from './format';
import { SystemError } from './fs/errors';

export interface ToolError {
  message: string;
  name?: string;
  code?: string;
  suggestion?: string;
  helpUrl?: string;
}

/** The host cuts messages further, to the Tool's `errorMessageLimit`. */
const MAX_UNITS = 65_536;

export function toToolError(thrown: unknown): ToolError {
  if (typeof thrown === 'string') return { message: bounded(thrown) || 'the thrown text is empty' };
  if (typeof thrown !== 'object' || thrown === null) return { message: `${inspect(thrown)} was thrown` };
  const message = field(thrown, 'message');
  const name = field(thrown, 'name');
  return {
    message: message || (thrown instanceof Error ? `${name || 'Error'} without a message` : bounded(inspect(thrown))),
    name,
    // The host has recorded what it denied, and sets the code and the suggestion.
    ...(thrown instanceof SystemError && thrown.isDenied ? {} : nextStep(thrown)),
  };
}

function nextStep(thrown: object): Partial<ToolError> {
  return {
    code: field(thrown, 'code'),
    suggestion: field(thrown, 'suggestion'),
    helpUrl: field(thrown, 'helpUrl'),
  };
}

/** Returns a field as text if it is a string or a number. A getter of the tool may throw. */
function field(thrown: object, key: string): string | undefined {
  try {
    const value = (thrown as Record<string, unknown>)[key];
    if (typeof value === 'number') return String(value);
    return typeof value === 'string' && value !== '' ? bounded(value) : undefined;
  } catch {
    return undefined;
  }
}

function bounded(text: string): string {
  return text.slice(0, MAX_UNITS).toWellFormed();
}
