// An authorization server with rotating refresh tokens, and a browser in which a person agrees to everything.
// Prints `ISSUER CONTROL` when both listen. Ends with its standard input.
import http from 'node:http';
import path from 'node:path';

const { Provider } = await import(
  path.join(process.env.TOOLHOST_OAUTH, 'node_modules/oidc-provider/lib/index.js')
);

const listen = (server) =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`));
  });

// The requests for tokens: the kind of grant, and the refresh token that was sent.
const requests = [];

const server = http.createServer((request, response) => {
  if (request.url.startsWith('/interaction/')) agree(request, response);
  else callback(request, response);
});
const issuer = await listen(server);
const redirect = 'http://127.0.0.1:8765/callback';
const grants = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'];
const client = {
  application_type: 'native',
  grant_types: grants,
  response_types: ['code'],
  redirect_uris: [redirect],
};

const provider = new Provider(issuer, {
  clients: [
    { ...client, client_id: 'public', token_endpoint_auth_method: 'none' },
    { ...client, client_id: 'private', client_secret: 'client secret: 100%' },
  ],
  cookies: { keys: ['key of the tests'] },
  features: {
    devInteractions: { enabled: false },
    deviceFlow: { enabled: true },
    revocation: { enabled: true },
  },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: async () => true,
  async loadExistingGrant(ctx) {
    const grant = new ctx.oidc.provider.Grant({
      clientId: ctx.oidc.client.clientId,
      accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope(ctx.oidc.params.scope);
    await grant.save();
    return grant;
  },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  scopes: ['read', 'write'],
  ttl: { AccessToken: 3600, RefreshToken: 86400, DeviceCode: 600, Grant: 86400, Interaction: 600, Session: 600 },
});
provider.use(async (ctx, next) => {
  await next();
  if (ctx.path === '/token') {
    const { grant_type: kind, refresh_token: token } = ctx.oidc?.params ?? {};
    requests.push({ kind, token, status: ctx.status });
  }
});
const callback = provider.callback();

async function agree(request, response) {
  await provider.interactionDetails(request, response);
  // Clients on loopback require consent each time. What is granted is in `loadExistingGrant`.
  const result = { login: { accountId: 'ada' }, consent: {} };
  await provider.interactionFinished(request, response, result);
}

// Follows redirects with cookies. Returns the last answer, or the URL beyond the server.
async function browse(cookies, url, options = {}) {
  for (let hops = 0; hops < 20; hops += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...options.headers, cookie };
    const answer = await fetch(url, { ...options, headers, redirect: 'manual' });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value) cookies.set(name, value);
      else cookies.delete(name);
    }
    const location = answer.headers.get('location');
    if (!location) return { status: answer.status, text: await answer.text() };
    url = new URL(location, url).href;
    options = {};
    if (!url.startsWith(issuer)) return { location: url };
  }
  throw new Error('too many redirects');
}

// Opens the page of a device code, and submits its forms until there is none.
async function device(url, denies) {
  const cookies = new Map();
  let page = await browse(cookies, url);
  for (let pages = 0; pages < 4; pages += 1) {
    const fields = [...page.text.matchAll(/<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g)];
    if (fields.length === 0) break;
    const body = new URLSearchParams(fields.map(([, name, value]) => [name, value]));
    body.set(denies ? 'abort' : 'confirm', 'yes');
    page = await browse(cookies, `${issuer}/device`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  }
  return page;
}

// Sends a refresh token that was used before, as a thief would.
async function replay() {
  const used = requests.find(({ kind, status }) => kind === 'refresh_token' && status === 200);
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: 'public',
    refresh_token: used.token,
  });
  return { status: (await fetch(`${issuer}/token`, { method: 'POST', body })).status };
}

const control = http.createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://control');
  const url = searchParams.get('url');
  const answers = {
    '/browse': () => browse(new Map(), url),
    '/device': () => device(url, searchParams.has('denies')),
    '/replay': replay,
    '/requests': () => requests,
  };
  try {
    response.end(JSON.stringify(await answers[pathname]()));
  } catch (error) {
    response.writeHead(500).end(JSON.stringify(String(error.stack)));
  }
});
console.log(`${issuer} ${await listen(control)}`);
process.stdin.on('end', () => process.exit()).resume();
