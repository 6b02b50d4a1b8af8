/** Functions that throw, for what the sandbox does not have. */

export class NotSupportedError extends Error {
  override readonly name = 'NotSupportedError';

  constructor(
    message: string,
    readonly code: string,
    readonly suggestion: string,
  ) {
    super(message);
  }
}

export function noProcesses(what: string): NotSupportedError {
  return new NotSupportedError(
    `${what}: a tool runs in a sandbox where no process can be started`,
    'NO_PROCESSES',
    'run shell commands with the tool `bash__exec`, where the agent has it',
  );
}

export function noNetwork(what: string): NotSupportedError {
  return new NotSupportedError(
    `${what}: the network is closed to this tool`,
    'NO_NETWORK',
    'do not try again; say that this tool cannot reach the network',
  );
}

function notHere(what: string): NotSupportedError {
  return new NotSupportedError(
    `${what} does not exist in the sandbox of a tool`,
    'NOT_HERE',
    'the author must correct the tool: packages in JavaScript, such as @noble/ciphers and @noble/curves, do the same',
  );
}

/** A module of Node whose functions throw. */
function refusing(module: string, names: string, refuse: (what: string) => Error): Record<string, unknown> {
  const entries = names.split(' ').map((name) => [
    name,
    function refused(): never {
      throw refuse(`${module}.${name}`);
    },
  ]);
  return Object.fromEntries(entries);
}

export const childProcess = refusing(
  'child_process',
  'spawn spawnSync exec execSync execFile execFileSync fork ChildProcess',
  noProcesses,
);
export const workerThreads = refusing('worker_threads', 'Worker MessageChannel', noProcesses);
export const cryptography = refusing(
  'crypto',
  'createHash createHmac createCipheriv createDecipheriv createSign createVerify createPrivateKey createPublicKey createSecretKey generateKeyPair generateKeyPairSync sign verify publicEncrypt privateDecrypt createDiffieHellman createECDH hash pbkdf2 pbkdf2Sync scrypt scryptSync',
  notHere,
);
export const net = refusing('net', 'connect createConnection createServer Socket Server', noNetwork);
export const tls = refusing('tls', 'connect createServer createSecureContext TLSSocket Server', noNetwork);
export const http = refusing('http', 'request get createServer Agent Server ClientRequest', noNetwork);
export const https = refusing('https', 'request get createServer Agent Server', noNetwork);
export const http2 = refusing('http2', 'connect createServer createSecureServer', noNetwork);
export const dgram = refusing('dgram', 'createSocket Socket', noNetwork);
export const dns = refusing('dns', 'lookup resolve resolve4 resolve6 reverse Resolver promises', noNetwork);
