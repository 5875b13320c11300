/** Certificates for a test: an authority, a server called `localhost`, a client, and an authority that signed neither. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export class Certificates {
  private readonly folder = mkdtempSync(join(tmpdir(), 'fenceline-tls-'));

  constructor() {
    for (const authority of ['ca', 'other-ca']) {
      this.openssl(
        'req',
        '-x509',
        ...KEY,
        ...this.files(authority),
        '-days',
        '2',
        '-subj',
        `/CN=${authority}`,
      );
    }
    writeFileSync(this.path('names'), 'subjectAltName=DNS:localhost\n');
    for (const name of ['server', 'client']) this.sign(name);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  text(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  delete(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private sign(name: string): void {
    const request = this.path(`${name}.csr`);
    this.openssl('req', ...KEY, '-keyout', this.path(`${name}.key`), '-out', request, '-subj', `/CN=${name}`);
    const authority = ['-CA', this.path('ca.crt'), '-CAkey', this.path('ca.key'), '-CAcreateserial'];
    const result = ['-out', this.path(`${name}.crt`), '-days', '2', '-extfile', this.path('names')];
    this.openssl('x509', '-req', '-in', request, ...authority, ...result);
  }

  private files(name: string): string[] {
    return ['-keyout', this.path(`${name}.key`), '-out', this.path(`${name}.crt`)];
  }

  private openssl(...args: string[]): void {
    const { error, status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
    if (error)
      throw new Error('openssl does not run; install it with your package manager', { cause: error });
    if (status !== 0) throw new Error(`openssl ${args.join(' ')} failed:\n${stderr}`);
  }
}
