import { perSuite, waitUntil } from '@rms/testkit';
import { createOne, newCaller, startResources } from './support.ts';

const rms = perSuite(startResources);

describe('a write that is queued when its call ends', () => {
  /** Blocks all writes and occupies both statement slots. Returns a function that unblocks them. */
  const block = async () => {
    const holder = await rms.database.pool.connect();
    await holder.query('begin');
    await holder.query('lock table resources.resources in share mode');
    const blocked: Promise<unknown>[] = [];
    for (const count of [1, 2]) {
      blocked.push(createOne(rms.client, newCaller()));
      await waitUntil(
        async () => {
          const { rowCount } = await rms.database.pool.query(
            "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
          );
          return rowCount === count;
        },
        { what: `${count} blocked statements` },
      );
    }
    return async () => {
      await holder.query('rollback');
      holder.release();
      await Promise.all(blocked);
    };
  };

  test('is dropped: a create with an expired deadline, repeated by its caller, creates one resource', async () => {
    const context = newCaller();
    const release = await block();
    const request = { requests: [{ context, name: 'once' }] };
    await expect(rms.client.batchCreateResources(request, { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'timeout',
    });
    const abort = new AbortController();
    const canceled = rms.client.batchCreateResources(request, { signal: abort.signal });
    setImmediate(() => abort.abort());
    await expect(canceled).rejects.toMatchObject({ name: 'RmsError' });
    const again = createOne(rms.client, context, 'once');
    // This call uses the same connection as the cancellations, so the service has read them once it responds.
    await rms.client.listResources({ context, pageSize: 10 });
    await release();
    await again;
    const { rows } = await rms.database.pool.query('select name from resources.resources where workspace_id = $1', [
      context.principal?.workspaceId,
    ]);
    expect(rows).toEqual([{ name: 'once' }]);
  });
});

describe('a statement in flight when its call ends', () => {
  /** Blocks all statements on resources. Returns a function that unblocks them. */
  const lock = async () => {
    const holder = await rms.database.pool.connect();
    await holder.query('begin');
    await holder.query('lock table resources.resources');
    return async () => {
      await holder.query('rollback');
      holder.release();
    };
  };
  const waiting = async () => {
    const { rowCount } = await rms.database.pool.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return rowCount;
  };
  const waitFor = (count: number) =>
    waitUntil(async () => (await waiting()) === count, { what: `${count} waiting statements` });

  test('is canceled when the deadline passes, in a statement of its own and in a transaction', async () => {
    const context = { ...newCaller(), actor: 'operator:test' };
    const { id } = await createOne(rms.client, context);
    const unlock = await lock();
    const late = [
      rms.client.listResources({ context, pageSize: 10 }, { timeoutMs: 300 }),
      rms.client.batchCreateResources({ requests: [{ context, name: 'late' }] }, { timeoutMs: 300 }),
      rms.client.batchUpdateResources({ requests: [{ context, id, name: 'late' }] }, { timeoutMs: 300 }),
    ];
    await Promise.all(late.map((call) => expect(call).rejects.toMatchObject({ code: 'timeout' })));
    await waitFor(0);
    await unlock();
    expect(await rms.client.listResources({ context, pageSize: 10 })).toMatchObject({ resources: [{ id }] });
  });

  test('is canceled when the caller cancels', async () => {
    const unlock = await lock();
    const abort = new AbortController();
    const call = rms.client.listResources({ context: newCaller(), pageSize: 10 }, { signal: abort.signal });
    call.catch(() => {});
    await waitFor(1);
    abort.abort();
    await waitFor(0);
    await unlock();
  });
});
