/** Behind Sentinels: the primary is killed under load, and everything goes on with the next one, on its own. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { OwnSentinels } from '../support/own-sentinels.js';
import { SteadyLoad } from '../support/steady-load.js';

describe('behind Sentinels', () => {
  let group: OwnSentinels | undefined;
  let load: SteadyLoad | undefined;
  afterEach(async () => {
    await load?.close();
    await group?.close();
  });

  it('resumes by itself when the primary is killed, with rising tokens, and loses at most what was not replicated', async () => {
    group = await OwnSentinels.start();
    load = await SteadyLoad.start({
      connection: { redis: group.options },
      commandTimeoutMs: 2_000,
    });
    const { accepted, runs } = load;
    await eventually(() => runs.length > 300);

    const primary = await group.primary();
    const killedAt = performance.now();
    await primary.crash();
    await group.untilFailedOver(primary);
    const failedOverMs = performance.now() - killedAt;
    const ranBefore = runs.length;
    await eventually(() => runs.length > ranBefore + 300, { timeoutMs: 20_000 });
    const resumedMs = load.longestGapMs(killedAt, performance.now());
    await load.stopProducing();
    await load.drain();
    const { inspector } = load.app;

    // Half a second of election and reconnecting on top of what the Sentinels need, and their jitter.
    expect(resumedMs).toBeLessThan(failedOverMs + 5_000);
    expect(load.tokensOutOfOrder()).toBe(0);
    const lost = await load.lost();
    const lostBefore = lost.map((id) => killedAt - (accepted.get(id) ?? 0));
    // Replication takes milliseconds here; what was accepted longer ago than this must be there.
    expect(Math.max(0, ...lostBefore)).toBeLessThan(500);
    const { counts } = await inspector.snapshot();
    expect(counts.done).toBeGreaterThanOrEqual(accepted.size - lost.length);
  }, 60_000);

  it('does not go back to a primary that was replaced while it was frozen', async () => {
    group = await OwnSentinels.start();
    load = await SteadyLoad.start({ connection: { redis: group.options }, commandTimeoutMs: 2_000 });
    const { accepted, runs, app } = load;
    await eventually(() => runs.length > 100);
    const former = await group.primary();
    former.freeze();
    const primary = await group.untilFailedOver(former);
    former.thaw();
    const acceptedBefore = accepted.size;
    await eventually(() => accepted.size > acceptedBefore + 200, { timeoutMs: 20_000 });
    await load.stopProducing();
    // It still believes to be a primary, and nobody has told it anything since.
    expect(await former.command('ROLE')).toContain('master');
    const since = [...accepted.keys()].slice(acceptedBefore);
    const specs = since.map((id) => `${app.prefix}:{jobs}:job:${id}`);
    expect(await primary.command('EXISTS', ...specs)).toBe(specs.length);
  }, 60_000);
});
