/** What the tables of docs/redis-keys.md say about keys, as patterns that real keys can be held against. */
import { codeSpans, type Row } from './markdown.js';

export interface Pattern {
  readonly text: string;
  readonly matches: RegExp;
  readonly type: string;
}

/** Of a key or a field in which what varies is written as `<name>`. */
export const toRegExp = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .replaceAll(/[{}]/g, String.raw`\$&`)
      .replace('<0-9>', '[0-9]')
      .replace('<minute>', String.raw`\d+`)
      .replace('<kind>', '(resource|idempotency)')
      .replaceAll(/<\w+>/g, '.+')}$`,
  );

/** The keys of a table with the columns Key and Type. */
export const patternsOf = (rows: readonly Row[]): Pattern[] =>
  rows.map(({ Key, Type = '' }) => {
    const [text = ''] = codeSpans(Key);
    return { text, matches: toRegExp(text), type: Type };
  });

/** The names of fields among the code of a row: not values, and not options of the library. */
export const fieldsIn = (row: Row | undefined): string[] =>
  codeSpans(row?.['Holds']).filter(
    (code) => /^[a-z_]+$/.test(code) && code !== 'done' && code !== 'processing',
  );
