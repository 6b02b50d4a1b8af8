// Requests to the page's API, with the token of the viewer.

import { parse } from './json.js';

const KEY = 'toolhost.token';

/** What the API answered instead. */
export class ApiError extends Error {
  constructor(status, message, hint) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  remove: () => sessionStorage.removeItem(KEY),
};

async function send(method, path, query, body, signal) {
  const url = new URL(`api/${path}`, document.baseURI);
  url.hash = '';
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(key, String(value).toWellFormed());
  }
  const headers = { authorization: `Bearer ${token.get() ?? ''}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const options = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) };
  const response = await fetch(url, { ...options, cache: 'no-store', credentials: 'omit', redirect: 'error' }).catch(
    (error) => {
      if (error.name === 'AbortError') throw error;
      throw new ApiError(0, '`toolhost watch` does not answer', 'Start it again, or look at its output.');
    },
  );
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  if (response.status === 401) {
    token.remove();
    dispatchEvent(new Event('token-needed'));
  }
  throw new ApiError(response.status, error?.message ?? `status ${response.status}`, error?.hint);
}

/** Sends a GET, and returns the JSON. */
export const get = async (path, query, signal) =>
  parse(await (await send('GET', path, query, undefined, signal)).text());

/** Sends a POST with a JSON body, and returns the JSON. */
export const post = async (path, query, body) => parse(await (await send('POST', path, query, body ?? {})).text());

/** Sends a GET, and returns the bytes. */
export const download = async (path, query) => (await send('GET', path, query)).blob();

/** A part of a path. */
export const part = (text) => encodeURIComponent(String(text).toWellFormed());

/** Runs a function at once and then again `ms` after it has ended, while the page is visible, until the signal. */
export function every(ms, signal, run) {
  let timer;
  const next = async () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    if (document.visibilityState === 'visible') {
      try {
        await run();
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        // What it shows stays; the next run may have more luck.
      }
    }
    if (!signal.aborted) timer = setTimeout(next, ms);
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  return next();
}
