/** `node:url`: URLs, and paths of files as URLs. */
import '../web/url';

/** Returns an object that `http.request` takes. */
function urlToHttpOptions(url: URL): object {
  const { protocol, hostname, hash, search, pathname, href, port, username, password } = url;
  return {
    protocol,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    hash,
    search,
    pathname,
    path: pathname + search,
    href,
    ...(port !== '' && { port: Number(port) }),
    ...((username || password) && { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` }),
  };
}

function fileURLToPath(url: string | URL): string {
  const { protocol, pathname } = new URL(url);
  if (protocol !== 'file:') throw Object.assign(new TypeError('The URL must be of scheme file'), { code: 'ERR_INVALID_URL_SCHEME' });
  return decodeURIComponent(pathname);
}

function pathToFileURL(path: string): URL {
  const url = new URL('file:///');
  const escaped = path.replaceAll('%', '%25').replaceAll('\\', '%5C').replaceAll('?', '%3F').replaceAll('#', '%23');
  url.pathname = escaped.startsWith('/') ? escaped : `/${escaped}`;
  return url;
}

/** Domains of other scripts as the engine's URL has them. */
function domainToASCII(domain: string): string {
  try {
    return new URL(`http://${domain}`).hostname;
  } catch {
    return '';
  }
}

export default { URL, URLSearchParams, fileURLToPath, pathToFileURL, urlToHttpOptions, domainToASCII, domainToUnicode: domainToASCII };
