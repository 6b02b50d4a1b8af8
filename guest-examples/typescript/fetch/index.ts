/** The `fetch` tool: requests, as far as the operator's policy lets them go. */
import type { JsonValue, ToolContext, ToolHandler } from 'toolhost';

interface Input {
  url: string;
  headers?: Record<string, string>;
  body?: object;
}

/** What a model can take in of one answer. */
const MAX_UNITS = 100_000;

export const handlers: Record<string, ToolHandler> = {
  get: (ctx, { url, headers }: Input) => request(ctx, url, { headers }),

  post: (ctx, { url, headers, body }: Input) =>
    request(ctx, url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: body && JSON.stringify(body),
    }),
};

async function request(ctx: ToolContext, url: string, init: RequestInit) {
  if (!/^https?:/.test(url) || !URL.canParse(url)) {
    throw failure('BAD_URL', `not a URL of the web: ${url}`, 'pass an absolute URL such as https://example.com/x');
  }
  const response = await answerOf(url, init);
  ctx.logger.info(`${init.method ?? 'GET'} ${url}: ${response.status}`);
  const type = response.headers.get('content-type') ?? '';
  const text = await response.text();
  const facts = { status: response.status, type };
  if (text.length > MAX_UNITS) return { ...facts, truncated: true, body: text.slice(0, MAX_UNITS) };
  return { ...facts, body: isJson(type) ? parsed(text) : text };
}

/** An answer of any status is one: the model may make something of a 404. */
async function answerOf(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    // Whether the policy forbids it, the host adds to this.
    throw failure('NO_ANSWER', `${new URL(url).host} cannot be reached: ${(error as Error).message}`, 'check the address');
  }
}

function isJson(type: string): boolean {
  return /^application\/([\w.-]+\+)?json\b/.test(type);
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function failure(code: string, message: string, suggestion: string): Error {
  return Object.assign(new Error(message), { name: 'FetchError', code, suggestion });
}
