/** Generated job ids: 22 characters, ordered by the time they were made, unique across processes. */
import { randomInt } from 'node:crypto';

// Crockford's base 32 in lower case: sorts like the number, and has no letters that are misread.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const PROCESS_LENGTH = 7;
const COUNTER_LENGTH = 5;
const COUNTER_SIZE = 32 ** COUNTER_LENGTH;

function encode(value: number, length: number): string {
  let text = '';
  for (let rest = value, i = 0; i < length; i++, rest = Math.floor(rest / 32)) {
    text = ALPHABET.charAt(rest % 32) + text;
  }
  return text;
}

const processPart = encode(randomInt(32 ** PROCESS_LENGTH), PROCESS_LENGTH);
let counter = randomInt(COUNTER_SIZE);
let lastTime = 0;
let lastTimePart = '';

/** The clock only orders ids roughly; a wrong one does no harm, since the process part keeps them apart. */
export function newJobId(): string {
  const time = Date.now();
  if (time !== lastTime) {
    lastTime = time;
    lastTimePart = encode(time, TIME_LENGTH);
  }
  counter = (counter + 1) % COUNTER_SIZE;
  return lastTimePart + encode(counter, COUNTER_LENGTH) + processPart;
}
