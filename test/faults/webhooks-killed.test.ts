import { describeWith, type Program, perSuite, seededRandom, startNetwork, startReceiver } from '@rms/testkit';
import pg from 'pg';
import { openSettings } from '../api/suites/all.ts';
import { gateOf } from './gate.ts';
import { holdTable } from './held-table.ts';
import { inFlightLimit, watchWorkspace, whole } from './watched.ts';
import { startWriteRun } from './write-run.ts';

/** Creates per stage: enough that each stage has work in progress. */
const writes = 150;
/** An instance's part of the concurrency limit of a webhook while two instances run and a killed one still counts. */
const ofOneInstance = Math.ceil(inFlightLimit / 3);

describeWith(['redis', 'kafka'], 'Invariant 1: instances of webhooks killed repeatedly', () => {
  const random = seededRandom(Number(process.env.FAULT_SEED ?? 1));

  const network = perSuite(() => startNetwork({ env: openSettings }));
  const second = perSuite(async () => (await network.moreWebhooks()).program);
  const receiver = perSuite(() => startReceiver({ path: '' }));
  const gate = perSuite(() => gateOf(receiver));
  const db = perSuite(() => new pg.Pool({ connectionString: network.env.DATABASE_URL, max: 4 }), {
    end: (opened) => opened.end(),
  });

  test('two instances, during fan-out, sending and recording: no event is lost, and only attempts in flight are repeated', async () => {
    const watched = await watchWorkspace(network, receiver, db);
    const victim = () => (random() < 0.5 ? network.services.webhooks : second);
    const killed: Program[] = [];
    const kill = async () => {
      const one = victim();
      await one.kill();
      killed.push(one);
      return one;
    };
    const run = (name: string) => startWriteRun(watched.client, writes, name);

    const feeds = await holdTable(db, 'webhooks.feeds', 'insert into webhooks.feeds');
    const duringFanOut = run('fan-out');
    await feeds.waitForWriters(2);
    const first = await kill();
    await feeds.release();
    await first.restart();

    await watched.waitForArrivals(writes);
    gate.close();
    const duringSending = run('sending');
    // More requests than one instance can have in flight while a killed one still counts, so both instances have some.
    await gate.waitForHeld(ofOneInstance + 1 + Math.floor(random() * 8));
    const next = await kill();
    gate.open();
    await next.restart();

    await watched.waitForArrivals(2 * writes);
    gate.close();
    const duringRecording = run('recording');
    await gate.waitForHeld(ofOneInstance + 1);
    const log = await holdTable(db, 'webhooks.delivery_log', 'all_attempts');
    gate.open();
    await log.waitForWriters(2);
    const last = await kill();
    await log.release();
    await last.restart();

    const ids = [duringFanOut, duringSending, duringRecording].map(({ done }) => done);
    const created = (await Promise.all(ids)).flat();
    const tally = await watched.tally(created);
    expect(tally).toMatchObject(whole(3 * writes));
    expect(tally.maxRepeats).toBeLessThanOrEqual(killed.length);
    expect(tally.repeats).toBeGreaterThan(0);
    expect(tally.repeats).toBeLessThanOrEqual(killed.length * inFlightLimit);
  });

  test('the only instance, at random moments: no event is lost, and only attempts in flight are repeated', async () => {
    expect(await second.terminate()).toBe(0);
    const watched = await watchWorkspace(network, receiver, db);
    const run = startWriteRun(watched.client, writes, 'alone');
    const kills = 2;
    for (let i = 0; i < kills; i += 1) {
      const moment = Math.floor(((i + random()) / kills) * writes * 0.8);
      await watched.waitForArrivals(moment);
      await network.services.webhooks.kill();
      await network.services.webhooks.restart();
    }
    const tally = await watched.tally(await run.done);
    expect(tally).toMatchObject(whole(writes));
    expect(tally.maxRepeats).toBeLessThanOrEqual(kills);
    expect(tally.repeats).toBeLessThanOrEqual(kills * inFlightLimit);
  });
});
