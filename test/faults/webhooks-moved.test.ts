import { describeWith, type Program, perSuite, startNetwork, startReceiver, waitUntil } from '@rms/testkit';
import pg from 'pg';
import { openSettings } from '../api/suites/all.ts';
import { gateOf } from './gate.ts';
import { holdTableUnder } from './held-table.ts';
import { inFlightLimit, watchWorkspace, whole } from './watched.ts';
import { startWriteRun, type WriteRun } from './write-run.ts';

const feedStatement = 'insert into webhooks.feeds';

describeWith(['redis', 'kafka'], 'Invariant 1: work that moves between instances of webhooks', () => {
  let flooding: WriteRun | undefined;

  const network = perSuite(() => startNetwork({ env: openSettings }));
  const receiver = perSuite(() => startReceiver({ path: '' }));
  const gate = perSuite(() => gateOf(receiver));
  const db = perSuite(() => new pg.Pool({ connectionString: network.env.DATABASE_URL, max: 4 }), {
    end: (opened) => opened.end(),
  });
  afterEach(() => flooding?.stop());

  test('an instance paused past its leases: another delivers; late results change nothing, and its queued deliveries are not sent', async () => {
    const watched = await watchWorkspace(network, receiver, db);
    const paused = network.services.webhooks;
    const creates = 4 * inFlightLimit;
    gate.close();
    const run = startWriteRun(watched.client, creates, 'paused');
    // The maximum is in flight, and further deliveries are queued behind them.
    await gate.waitForHeld(inFlightLimit);
    paused.pause();
    // Requests of the first instance stay held until it resumes; the second gets responses immediately.
    gate.openForNew();
    const ids = await run.done;
    await network.moreWebhooks();
    const taken = async () =>
      (await db.query('select from webhooks.delivery_log where workspace_id = $1', [watched.workspaceId])).rowCount;
    await waitUntil(async () => (await taken()) === creates, {
      what: 'the other instance to deliver all',
    });
    gate.open((_, index) => (index % 2 === 0 ? 200 : 500));
    paused.resume();
    const late = async () =>
      (
        await db.query(
          'select from webhooks.delivery_log where workspace_id = $1 and jsonb_array_length(attempts) = 2',
          [watched.workspaceId],
        )
      ).rowCount;
    await waitUntil(async () => (await late()) === inFlightLimit, { what: 'the late results' });
    expect(await watched.tally(ids)).toMatchObject({ ...whole(creates), repeats: inFlightLimit, maxRepeats: 1 });
  });

  test('instances join and leave in the middle of fan-out batches: no event is lost or repeated, and the feed has no gaps', async () => {
    const watched = await watchWorkspace(network, receiver, db);
    /** Creates resources until it is stopped, so that every instance always has work. */
    const flood = (name: string) => {
      flooding = startWriteRun(watched.client, Number.POSITIVE_INFINITY, name, 2);
      return flooding;
    };
    /** Runs `meanwhile` while each of this many instances is in mid-batch. */
    const inTheMiddle = async (instances: number, meanwhile: () => Promise<void>) => {
      const feeds = await holdTableUnder(db, 'webhooks.feeds', feedStatement, instances);
      await meanwhile();
      await feeds.release();
    };
    const run = flood('moved');
    let third: Program | undefined;
    await inTheMiddle(2, async () => {
      third = (await network.moreWebhooks()).program;
    });
    let leaving: Promise<number | null> | undefined;
    await inTheMiddle(3, async () => {
      leaving = third?.terminate();
    });
    expect(await leaving).toBe(0);
    run.stop();
    const ids = await run.done;
    expect(await watched.tally(ids)).toMatchObject({ ...whole(ids.length), repeats: 0 });

    const again = flood('killed');
    await third?.restart();
    await inTheMiddle(3, async () => {
      await third?.kill();
    });
    again.stop();
    ids.push(...(await again.done));
    const after = await watched.tally(ids);
    expect(after).toMatchObject(whole(ids.length));
    expect(after.maxRepeats).toBeLessThanOrEqual(1);
    expect(after.repeats).toBeLessThanOrEqual(inFlightLimit);
  });
});
