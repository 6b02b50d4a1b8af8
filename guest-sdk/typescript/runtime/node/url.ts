/** `node:url`. */
import '../web/url';

function fileURLToPath(url: string | URL): string {
  const { protocol, pathname } = new URL(url);
  if (protocol !== 'file:') throw new TypeError('The URL must be of scheme file');
  return decodeURIComponent(pathname);
}

function pathToFileURL(path: string): URL {
  const url = new URL('file:///');
  url.pathname = path.startsWith('/') ? path : `/${path}`;
  return url;
}

export default { URL, URLSearchParams, fileURLToPath, pathToFileURL };
