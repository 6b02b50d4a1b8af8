/** HTTP by the engine's own `fetch`: one request, without redirects. */
import type { Reply, Sent } from '../qjs/http';

export type { Reply, Sent };

const { fetch } = globalThis;

export async function send({ method, url, headers, body, signal }: Sent): Promise<Reply> {
  signal.throwIfAborted();
  const response = await fetch(url.href, { method, headers: [...headers], ...(body && { body: body as BodyInit }) });
  const replied: [string, string][] = [];
  response.headers.forEach((value, name) => replied.push([name, value]));
  const reader = response.body?.getReader();
  return {
    status: response.status,
    headers: replied,
    read: async () => (await reader?.read())?.value,
    close: () => void reader?.cancel(),
  };
}
