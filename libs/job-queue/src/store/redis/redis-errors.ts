/** Makes what ioredis throws fit for people and for logs: it says what to do, and holds no payload and no password. */

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
  if (error instanceof Error && 'command' in error) {
    const { command } = error;
    const isNamed = typeof command === 'object' && command !== null && 'name' in command;
    error.command = isNamed ? { name: command.name } : undefined;
  }
  return error;
}

export function isForbidden(message: string): boolean {
  return FORBIDDEN.test(message);
}

/** Why there is no usable connection, and what to do about it. `error` is the last one heard of it, if any. */
export function explainNoConnection(address: string, error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  if (/^WRONGPASS/.test(message)) return `${address} refused the user name or the password.`;
  if (/^NOAUTH/.test(message)) return `${address} wants a password, and the connection gives none.`;
  return (
    explainTls(address, message, error) ??
    `${address} cannot be reached. Is Redis running there, and is the address right?`
  );
}

export function explainForbidden(address: string, message: string): string {
  return (
    `${address} forbids it to the user of this connection (${message}). Give the user the rules of ` +
    'docs/security.md; what Redis refused is in ACL LOG.'
  );
}

function explainTls(address: string, message: string, error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (UNTRUSTED_CERTIFICATES.has(code)) {
    return (
      `the TLS certificate of ${address} is not trusted (${message}). Pass the certificate of its authority as ` +
      '`tls: { ca }` of the ioredis options, or in NODE_EXTRA_CA_CERTS.'
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `the TLS certificate of ${address} is for another host (${message}). Connect to a name that it holds.`;
  }
  if (code === 'CERT_HAS_EXPIRED') return `the TLS certificate of ${address} has expired.`;
  if (/certificate required/i.test(message)) {
    return `${address} wants a certificate of the client: pass \`tls: { cert, key }\` of the ioredis options.`;
  }
  if (/wrong version number|packet length too long/i.test(message)) {
    return `${address} does not speak TLS. Use its TLS port, or redis:// instead of rediss://.`;
  }
  return undefined;
}
