/** What the documents point to exists: files, headings, and paths of sources. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { codeSpans, documents, readDocument, ROOT } from './markdown.js';

/** Where a path in backticks may start. */
const BASES = ['', 'libs/job-queue/src', 'docs'];
const SOURCE_PATH = /^[\w.-]+\/[\w./-]+\.(ts|lua|mjs|md|yaml)$/;

/** GitHub's name for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsOf = (path: string): string[] =>
  [...readDocument(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

describe.each(documents())('%s', (path) => {
  const text = readDocument(path);

  it('links to what exists', () => {
    const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const full = file === '' ? path : join(dirname(path), file);
        return !existsSync(join(ROOT, full)) || (anchor !== undefined && !anchorsOf(full).includes(anchor));
      });
    expect(broken).toEqual([]);
  });

  it('names source files that exist', () => {
    const missing = codeSpans(text)
      .filter((code) => SOURCE_PATH.test(code))
      .filter((code) => !BASES.some((base) => existsSync(join(ROOT, base, code))));
    expect(missing).toEqual([]);
  });
});
