// `fetch`, through the host and its policy, to a server on loopback.
import assert from 'node:assert';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ENGINES, Tool, fixture, temporary } from './toolhost.mjs';

const [, needs] = ENGINES.find(([engine]) => engine === 'starlingmonkey');

describe('fetch', needs, () => {
  const seen = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push(`${request.method} ${request.url} ${request.headers['x-from'] ?? ''}`.trim());
    response.setHeader('content-type', 'application/json');
    response.statusCode = request.url === '/gone' ? 404 : 200;
    response.end(JSON.stringify({ url: request.url, body: body && JSON.parse(body) }));
  });
  let tool;
  let url;
  let granted;
  before(async () => {
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${server.address().port}`;
    granted = `tools: {t: {http: {allow: ["${url}"]}}}\n`;
    tool = await Tool.of(fixture('fetch.ts'), ['get', 'post', 'both']);
  });
  after(() => server.close());

  test('gets what the policy allows', async () => {
    assert.strictEqual(tool.answer.engine, 'starlingmonkey');
    const { output } = await tool.callWith(granted, 'get', { url: `${url}/x?y=1` });
    assert.deepStrictEqual(output, { status: 200, type: 'application/json', text: '{"url":"/x?y=1","body":""}' });
    assert.ok(seen.includes('GET /x?y=1 tool'));
    assert.strictEqual((await tool.callWith(granted, 'get', { url: `${url}/gone` })).output.status, 404);
  });

  test('posts, and asks for several at once', async () => {
    const { output } = await tool.callWith(granted, 'post', { url: `${url}/p`, body: { a: 'é' } });
    assert.deepStrictEqual(output, { url: '/p', body: { a: 'é' } });
    const workdir = await temporary();
    const both = await tool.callWith(granted, 'both', { url }, workdir);
    assert.deepStrictEqual(both.output, ['{"url":"/a","body":""}', '{"url":"/b","body":""}']);
    assert.strictEqual(await readFile(path.join(workdir, 'got.txt'), 'utf8'), both.output.join('\n'));
  });

  test('is refused without a grant, and nothing is asked', async () => {
    const { error } = await tool.call('get', { url: `${url}/secret` });
    assert.match(JSON.stringify(error), /http/);
    assert.ok(!seen.some((each) => each.includes('/secret')));
  });
});
