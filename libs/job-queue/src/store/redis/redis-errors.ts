/** Makes what ioredis throws fit for people and for logs: it says what to do, and holds no payload and no password. */

import type { Redis } from 'ioredis';
import { isRecord } from '../../options/option-checks.js';

/** What Redis answers when an ACL forbids a command, a key or a channel: to the client, and inside of a script. */
const FORBIDDEN =
  /^NOPERM\b|ACL failure in script|executing the script can't (?:run|access)|no permissions to (?:run|access)/i;
const UNTRUSTED_CERTIFICATES: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

/**
 * ioredis hangs the whole command on the error of its reply: the payload of an enqueue, the password of a login.
 * Node and Nest print such properties, of causes too.
 */
export function withoutArguments(error: unknown): unknown {
  if (isRecord(error) && isRecord(error['command'])) {
    Object.assign(error, { command: { name: error['command']['name'] } });
  }
  return error;
}

const ignore = (): void => {};

/**
 * Lets the process survive the errors of a client, which its calls report themselves. ioredis listens for one error
 * of each socket only. A second one, such as a TLS alert followed by a timeout, would be nobody's and end the process.
 */
export function surviveErrors(client: Redis): void {
  const listen = (): void => {
    const stream: Redis['stream'] | undefined | null = client.stream;
    if (stream && !stream.listeners('error').includes(ignore)) stream.on('error', ignore);
  };
  client.on('error', listen).on('connect', listen);
  // There is a socket a few microtasks later.
  client.on('connecting', () => setImmediate(listen));
}

export function isForbidden(message: string): boolean {
  return FORBIDDEN.test(message);
}

export function explainForbidden(address: string, message: string): string {
  return (
    `${address} forbids it to the user of this connection (${message}). Give the user the rules of ` +
    'docs/security.md; what Redis refused is in ACL LOG.'
  );
}

/** Why there is no usable connection, and what to do about it. `error` is the last one heard of it, if any. */
export function explainNoConnection(address: string, error: unknown, usesTls: boolean): string {
  const { code, message } = isRecord(error) ? error : {};
  const said = String(message);
  if (said.startsWith('WRONGPASS')) return `${address} refused the user name or the password.`;
  if (said.startsWith('NOAUTH')) return `${address} wants a password, and the connection gives none.`;
  if (UNTRUSTED_CERTIFICATES.has(code)) {
    return (
      `the TLS certificate of ${address} is not trusted (${said}). Pass the certificate of its authority as ` +
      '`tls: { ca }` of the ioredis options, or in NODE_EXTRA_CA_CERTS.'
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `the TLS certificate of ${address} is for another host (${said}). Connect to a name that it holds.`;
  }
  if (code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED') {
    return `${address} wants a certificate of the client: pass \`tls: { cert, key }\` of the ioredis options.`;
  }
  if (code === 'CERT_HAS_EXPIRED') return `the TLS certificate of ${address} has expired.`;
  if (code === 'ECONNRESET') {
    return (
      `${address} closes the connection at once. Does it want TLS (rediss://), no TLS (redis://), or a certificate ` +
      'of the client (`tls: { cert, key }` of the ioredis options)?'
    );
  }
  // A port without TLS waits for the rest of what it takes for a command.
  const hint = usesTls ? 'is the address right, and does its port speak TLS?' : 'and is the address right?';
  return `${address} cannot be reached. Is Redis running there, ${hint}`;
}
