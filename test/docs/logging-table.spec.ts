/** The README's table of log levels against the levels in the code. */
import { expect, it } from '@jest/globals';
import { EVENT_LINES } from '#lib/observability/job-event-fields.js';
import { codeSpans, readDocument, table } from './markdown.js';

it('lists every event under its level', () => {
  const documented = table(readDocument('README.md'), 'Level', '## Logging').flatMap(({ Level, Events }) =>
    codeSpans(Events).map((event) => [event, codeSpans(Level)[0]] as const),
  );
  const real = Object.entries(EVENT_LINES).map(([event, { level }]) => [event, level] as const);
  expect(new Map(documented)).toEqual(new Map<string, string | undefined>(real));
  expect(documented).toHaveLength(real.length);
});
