/** `node:url` with `parse`, `format` and `resolve`, which few tools use. */
import * as legacy from 'native-url';
import querystring from './querystring';
import url from './url';

interface Parts {
  [part: string]: unknown;
}

function parse(text: string, parseQuery = false, slashes = false): Parts {
  const parsed = legacy.parse(String(text), false, slashes) as Parts;
  if (parseQuery) parsed['query'] = querystring.parse(String(parsed['search'] ?? '').slice(1));
  return parsed;
}

/** Returns the text of a URL, or of the parts of one. */
function format(value: string | URL | Parts, options: { fragment?: boolean; search?: boolean; auth?: boolean } = {}): string {
  if (value instanceof URL) {
    const copy = new URL(value);
    if (options.fragment === false) copy.hash = '';
    if (options.search === false) copy.search = '';
    if (options.auth === false) copy.username = copy.password = '';
    return copy.href;
  }
  return legacy.format(value);
}

function resolve(from: string, to: string): string {
  return legacy.resolve(from, to);
}

export default { ...url, parse, format, resolve, resolveObject: (from: string, to: string) => parse(resolve(from, to)), Url: legacy.Url };
