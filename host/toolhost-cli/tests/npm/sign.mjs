// Signs the digest of a package as Sigstore's services do, which are imitated in this process, and writes bundles that
// are right and wrong in one way each, with their trusted root.
//
// node sign.mjs FOLDER sha256:HEX. The packages are in the folder TOOLHOST_NPM_TOOLS.

import { createHash, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(`${process.env.TOOLHOST_NPM_TOOLS}/package.json`);
const mock = require('@sigstore/mock');
const nock = require('nock');
const { DSSEBundleBuilder, FulcioSigner, RekorWitness, TSAWitness } = require('@sigstore/sign');
const { bundleToJSON } = require('@sigstore/bundle');

const [folder, digest] = process.argv.slice(2);
const IDENTITY = 'https://github.com/acme/tools/.github/workflows/release.yml@refs/heads/main';
const ISSUER = 'https://token.actions.githubusercontent.com';
const FULCIO = 'https://fulcio.example';
const REKOR = 'https://rekor.example';
const TSA = 'https://tsa.example';

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const serve = (base, { path, fn }) =>
  nock(base).persist().post(path).reply(async (_uri, body) => {
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    const { statusCode, response, contentType } = await fn(sent);
    return [statusCode, response, { 'Content-Type': contentType || 'text/plain' }];
  });

/** Returns the entry that Rekor makes of a proposed one; the service of the tests would log what was proposed. */
function logged({ apiVersion, kind, spec }) {
  const { envelope, verifiers } = spec.proposedContent;
  const hash = (bytes) => ({
    algorithm: 'sha256',
    value: createHash('sha256').update(bytes).digest('hex'),
  });
  const { payload, signatures } = JSON.parse(envelope);
  return {
    apiVersion,
    kind,
    spec: {
      envelopeHash: hash(envelope),
      payloadHash: hash(Buffer.from(payload, 'base64')),
      signatures: signatures.map(({ sig }) => ({ signature: sig, verifier: verifiers[0] })),
    },
  };
}

/** Starts services with keys of their own, and returns their trusted root. */
async function services() {
  nock.cleanAll();
  const tlog = await mock.initializeTLog(REKOR, newKey());
  const log = tlog.log.bind(tlog);
  tlog.log = (proposed) => log(logged(proposed));
  const ctlog = await mock.initializeCTLog(newKey());
  const ca = await mock.initializeCA(newKey(), ctlog);
  const tsa = await mock.initializeTSA(newKey());
  serve(FULCIO, mock.fulcioHandler(ca, {}));
  serve(REKOR, mock.rekorHandler(tlog, {}));
  serve(TSA, mock.tsaHandler(tsa, {}));
  const base64 = (bytes) => Buffer.from(bytes).toString('base64');
  const validFor = { start: '2020-01-01T00:00:00Z' };
  const logOf = (publicKey, keyId, baseUrl) => ({
    baseUrl,
    hashAlgorithm: 'SHA2_256',
    publicKey: { rawBytes: base64(publicKey), keyDetails: 'PKIX_ECDSA_P256_SHA_256', validFor },
    logId: { keyId: base64(keyId) },
  });
  const authorityOf = (certificate, uri) => ({
    subject: { organization: 'example', commonName: 'example' },
    uri,
    certChain: { certificates: [{ rawBytes: base64(new Uint8Array(certificate)) }] },
    validFor,
  });
  return {
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [logOf(tlog.publicKey, createHash('sha256').update(tlog.publicKey).digest(), REKOR)],
    certificateAuthorities: [authorityOf(ca.rootCertificate, FULCIO)],
    ctlogs: [logOf(ctlog.publicKey, new Uint8Array(ctlog.logID), 'https://ctlog.example')],
    timestampAuthorities: [authorityOf(tsa.rootCertificate, TSA)],
  };
}

const token = (claims) => {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part(claims)}.`;
};

const statement = (predicateType, sha256) =>
  Buffer.from(
    JSON.stringify({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ digest: { sha256 } }],
      predicateType,
      predicate: {},
    }),
  );

/** Signs a statement. Returns a bundle as JSON. */
async function sign({
  predicateType = 'https://sigstore.dev/cosign/sign/v1',
  sha256 = digest.replace('sha256:', ''),
  identity = IDENTITY,
  issuer = ISSUER,
  witnesses = [new RekorWitness({ rekorBaseURL: REKOR, entryType: 'dsse' })],
}) {
  const identityProvider = { getToken: async () => token({ sub: identity, iss: issuer }) };
  const signer = new FulcioSigner({ fulcioBaseURL: FULCIO, identityProvider });
  const builder = new DSSEBundleBuilder({ signer, witnesses });
  const type = 'application/vnd.in-toto+json';
  return bundleToJSON(await builder.create({ data: statement(predicateType, sha256), type }));
}

const write = (name, value) => writeFileSync(join(folder, name), JSON.stringify(value, null, 1));

const root = await services();
write('trusted_root.json', root);
const right = await sign({});
write('right.json', right);
write('right-build.json', await sign({ predicateType: 'https://slsa.dev/provenance/v1' }));
write('other-identity.json', await sign({ identity: IDENTITY.replace('acme', 'mallory') }));
write('other-issuer.json', await sign({ issuer: 'https://accounts.example' }));
write('other-digest.json', await sign({ sha256: '0'.repeat(64) }));
write('other-statement.json', await sign({ predicateType: 'https://openvex.dev/ns' }));
write('no-log.json', await sign({ witnesses: [new TSAWitness({ tsaBaseURL: TSA })] }));

const tampered = structuredClone(right);
const payload = Buffer.from(tampered.dsseEnvelope.payload, 'base64').toString();
const changed = payload.replace('"predicate":{}', '"predicate":{"a":1}');
tampered.dsseEnvelope.payload = Buffer.from(changed).toString('base64');
write('tampered.json', tampered);

const otherLog = structuredClone(right);
otherLog.verificationMaterial.tlogEntries = (
  await sign({ sha256: '1'.repeat(64) })
).verificationMaterial.tlogEntries;
write('log-entry-of-another.json', otherLog);

// A certificate of yesterday, used today.
const Now = Date;
globalThis.Date = class extends Now {
  constructor(...given) {
    given.length === 0 ? super(Now.now() - 86400e3) : super(...given);
  }
};
const witness = new RekorWitness({ rekorBaseURL: REKOR, entryType: 'dsse' });
const later = { testify: (...given) => ((globalThis.Date = Now), witness.testify(...given)) };
write('expired.json', await sign({ witnesses: [later] }));

// The same words by services that nobody trusts.
await services();
write('other-services.json', await sign({}));
