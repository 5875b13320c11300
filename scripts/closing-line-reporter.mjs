import { writeSync } from 'node:fs';

const EXIT_TIMEOUT_MS = 10_000;

/** Ends the output of Jest with `N passed, N failed`, for people in a hurry and for scripts. */
export default class ClosingLineReporter {
  constructor({ watch, watchAll }) {
    this.watching = watch || watchAll;
  }

  onRunComplete(_contexts, results) {
    const { numPassedTests: passed, numPendingTests: skipped } = results;
    // A file that does not even load has no failed tests, but is a failure.
    let failed = results.numFailedTests + results.numRuntimeErrorTestSuites;

    // At exit, so that nothing follows it.
    process.once('exit', () => {
      if (skipped) writeSync(1, `\n${skipped} skipped`);
      writeSync(1, `\n${passed} passed, ${failed} failed\n`);
    });

    if (this.watching) return;
    // Jest itself would wait for ever. The timer does not keep a process alive that has nothing else to do.
    setTimeout(() => {
      console.error(
        'A test left a connection, timer or process open; try `npm test -- --detectOpenHandles`.',
      );
      failed++;
      process.exit(1);
    }, EXIT_TIMEOUT_MS).unref();
  }
}
