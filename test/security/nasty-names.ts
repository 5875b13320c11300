/** Names that try to break out of a key, or to be taken for another name. */
import fc from 'fast-check';

const PIECES = [
  ...[
    '{',
    '}',
    '{}',
    '}{',
    '{total}',
    '{jobs}',
    'fl:{jobs}:',
    '}:holder',
    'meta',
    'absent',
    'resource:',
    'queued:5',
  ],
  ...[
    '%',
    '%7B',
    '%7D',
    '%25',
    '%0A',
    '%257B',
    ':',
    '|',
    '\\',
    '"',
    "'",
    '/',
    '..',
    '*',
    '?',
    '[a-z]',
    ' ',
    '\t',
  ],
  ...['\n', '\r\n', '\0', '\u0007', '\u001b[2J', '\u007f', '\u0085', '\u009b', '\u2028', '\u2029', '\u202e'],
  ...[
    'é',
    'e\u0301',
    'ß',
    'İ',
    'ı',
    '漢字',
    '😀',
    '\ufeff',
    '\ufffd',
    '\ud800',
    '\udc00',
    '__proto__',
    'x',
    'X',
  ],
];

export const nastyName: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(fc.constantFrom(...PIECES), { maxLength: 5 }).map((parts) => parts.join('')),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 300 }).map((length) => 'n'.repeat(length)) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 130 }) },
);

/** What an attacker hopes to be taken for the same. */
const LOOKALIKES: readonly ((name: string) => string)[] = [
  (name) => encodeURIComponent(name.toWellFormed()),
  (name) => name.replaceAll(/[%{}]/g, encodeURIComponent),
  (name) => name.normalize('NFC'),
  (name) => name.normalize('NFD'),
  (name) => name.toWellFormed(),
  (name) => name.toLowerCase(),
  (name) => name.trim(),
  (name) => `${name} `,
  (name) => `${name}:`,
  (name) => name.replaceAll(/\p{Cc}/gu, ''),
  (name) => `${name}\0`,
  (name) => name.slice(0, 128),
];

/** Two different names, often close to each other. */
export const namePair: fc.Arbitrary<readonly [string, string]> = fc
  .oneof(
    fc.tuple(nastyName, nastyName),
    fc
      .tuple(nastyName, fc.constantFrom(...LOOKALIKES))
      .map(([name, disguise]): [string, string] => [name, disguise(name)]),
  )
  .filter(([a, b]) => a !== b);

/** Whether a key has more than one hash tag, or what garbles terminals and logs. */
export function escapes(key: string): boolean {
  return (
    key.split('{').length !== 2 || key.split('}').length !== 2 || /[\p{Cc}\u2028\u2029\ufffe]/u.test(key)
  );
}
