import { writeSync } from 'node:fs';

/** Ends the output of Jest with `N passed, N failed`, for people in a hurry and for scripts. */
export default class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    // A file that does not even load has no failed tests, but is a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests ? `${results.numPendingTests} skipped\n` : '';
    this.closing = `\n${skipped}${results.numPassedTests} passed, ${failed} failed\n`;
    // At exit, so that nothing follows it, not even Jest's complaint about open handles.
    process.once('exit', () => writeSync(1, this.closing));
  }
}
