/** Reads the parts of the project's Markdown files that specs check: code blocks and tables. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Specs run from the root, by npm and by hand. */
export const ROOT = process.cwd();

export function readDocument(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Paths of all documents, from the root. */
export function documents(): string[] {
  const guides = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', 'CHANGELOG.md', 'libs/job-queue/README.md', ...guides.map((name) => `docs/${name}`)];
}

/** The texts of all blocks fenced with that language. */
export function codeBlocks(markdown: string, language: string): string[] {
  const blocks = markdown.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
  return [...blocks].map(([, text = '']) => text);
}

/** A table's row: column title → cell. */
export type Row = Readonly<Record<string, string>>;

/** All rows of the tables whose first column has this title, in the part of the document after `heading`. */
export function tables(markdown: string, firstColumn: string, heading = ''): Row[][] {
  const start = heading === '' ? 0 : markdown.indexOf(`${heading}\n`);
  if (start < 0) throw new Error(`there is no heading "${heading}"`);
  const found = markdown.slice(start).matchAll(/(?:^\|.*\|\n)+/gm);
  return [...found].map(([text]) => parseTable(text)).filter((rows) => firstColumn in (rows[0] ?? {}));
}

/** The first such table. */
export function table(markdown: string, firstColumn: string, heading = ''): Row[] {
  const [first] = tables(markdown, firstColumn, heading);
  if (!first) throw new Error(`there is no table with the first column "${firstColumn}" after "${heading}"`);
  return first;
}

function parseTable(text: string): Row[] {
  const [titles = [], , ...rows] = text.trim().split('\n').map(cells);
  return rows.map((row) => Object.fromEntries(titles.map((title, i) => [title, row[i] ?? ''])));
}

function cells(line: string): string[] {
  return line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}

/** What stands in backticks in a cell. */
export function codeSpans(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}
