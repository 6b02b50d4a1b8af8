// `fetch`, through the host and its policy, to a server on loopback: as in Node.
import assert from 'node:assert';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { ENGINES, Tool, fixture, inNode } from './toolhost.mjs';

const HANDLERS = ['get', 'post', 'redirects', 'bodies', 'aborts', 'failures', 'both'];

const HTML = { 'content-type': 'text/html; charset=utf-8' };
const encoded = (coding, bytes) => [{ ...HTML, 'content-encoding': coding }, bytes];

/** Headers and bodies by path. */
const ANSWERS = {
  '/gzip': encoded('gzip', gzipSync('<p>größe</p>')),
  '/deflate': encoded('deflate', deflateSync('größe')),
  '/raw': encoded('deflate', deflateRawSync('größe')),
  '/twice': encoded('deflate, gzip', gzipSync(deflateSync('twice'))),
  '/broken': encoded('gzip', Buffer.from('this is no gzip at all')),
  '/bom': [HTML, Buffer.from('\ufeffbom')],
  '/latin1': [{ 'content-type': 'text/html; charset=ISO-8859-1' }, Buffer.from('größe', 'latin1')],
};

const seen = [];

/** `other` is the origin of a second server. */
const server = (other) =>
  createServer(async (request, response) => {
    const { method, url, headers } = request;
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push(`${method} ${url}`);
    const [, status, to] = /^\/to\/(\d+)(\/.*)$/.exec(url) ?? [];
    if (status) response.writeHead(Number(status), { location: to }).end('moved');
    else if (url === '/away') response.writeHead(302, { location: `${other()}/echo` }).end();
    else if (url === '/loop') response.writeHead(302, { location: '/loop' }).end();
    else if (url === '/file') response.writeHead(302, { location: 'file:///etc/passwd' }).end();
    else if (url === '/gone') response.writeHead(404).end();
    else if (url === '/empty') response.writeHead(204).end();
    else if (url === '/chunks') ['a', 'b', 'c'].forEach((each) => response.write(each.repeat(40_000))), response.end();
    else if (url === '/drip') response.writeHead(200).write('a');
    else if (url in ANSWERS) response.writeHead(200, ANSWERS[url][0]).end(ANSWERS[url][1]);
    else if (url !== '/slow') response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ method, url, headers, body }));
  });

for (const [engine, needs] of ENGINES) {
  describe(`fetch: ${engine}`, needs, () => {
    const servers = [server(() => origins[1]), server(() => origins[0])];
    let [origins, tool, policy, node] = [];
    before(async () => {
      origins = await Promise.all(servers.map((each) => new Promise((resolve) => each.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${each.address().port}`)))));
      policy = `tools: {t: {http: {allow: ["${origins[0]}", "${origins[1]}", "http://127.0.0.1:1"]}}}\n`;
      node = await inNode('fetch.ts');
      tool = await Tool.of(fixture('fetch.ts'), [...HANDLERS, 'denied'], '--engine', engine);
    });
    after(() => servers.forEach((each) => (each.closeAllConnections(), each.close())));

    for (const name of HANDLERS) {
      test(name, async () => {
        const [url, other] = origins;
        const expected = JSON.parse(JSON.stringify(await node[name]({}, { url, other })));
        const { output, error } = await tool.callWith(policy, name, { url, other });
        assert.deepStrictEqual(output ?? error, expected);
      });
    }

    test('the policy holds for each request, and for each step of a redirect', async () => {
      const [url] = origins;
      const { error } = await tool.call('get', { url });
      assert.strictEqual(error.code, 'E_TOOL_DENIED');
      seen.length = 0;
      const step = await tool.callWith(`tools: {t: {http: {allow: ["GET ${url}/to/*"]}}}\n`, 'denied', { url });
      assert.strictEqual(step.error.code, 'E_TOOL_DENIED');
      assert.deepStrictEqual(seen, ['GET /to/302/denied']);
    });
  });
}
