import { setImmediate as turn } from 'node:timers/promises';
import { CallScope, coalesce, inCall } from '@rms/async';
import { createPool, inTransaction } from '@rms/postgres/db';
import { startPostgres } from '@rms/testkit';
import { median } from './processes.mjs';

const waiting = 10_000;
/** As in the gateway. */
const batches = { maxInFlight: 4, maxBatch: 200, maxWaitMs: 60_000 };

/**
 * Measures the cost of fairness on the write path, in microseconds per call: the turns of workspaces in the batches of
 * reads and changes, and the limit of a workspace to half of the database connections. Rounds alternate. The insert
 * shows the size of both costs.
 */
export async function run({ quick }) {
  const rounds = quick ? 3 : 11;
  const postgres = await startPostgres();
  const pool = createPool({ url: postgres.url, max: 10, applicationName: 'bench', log: console });
  await pool.query('create table written (id integer, body text)');
  const cases = {
    'a batch without tenants': () => batched({}),
    'a batch of one workspace': () => batched({ tenantOf: () => 'ws_1' }),
    'a batch of 10,000 workspaces': () => batched({ tenantOf: (item) => `ws_${item}` }),
    'a connection': () => connected(pool, undefined),
    'a connection for a workspace': () => connected(pool, 'ws_1'),
    'an insert': () => inserted(pool, undefined, quick),
    'an insert for a workspace': () => inserted(pool, 'ws_1', quick),
  };
  const measured = new Map(Object.keys(cases).map((name) => [name, []]));
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const [name, once] of Object.entries(cases)) {
        const us = await once();
        // The first round warms up.
        if (round > 0) measured.get(name).push(us);
      }
    }
  } finally {
    await pool.end();
    await postgres.stop();
  }
  const of = (name) => median(measured.get(name));
  const against = {
    'a batch of one workspace': 'a batch without tenants',
    'a batch of 10,000 workspaces': 'a batch without tenants',
    'a connection for a workspace': 'a connection',
    'an insert for a workspace': 'an insert',
  };
  const rows = Object.keys(cases).map((name) => ({
    what: name,
    µs: of(name),
    ratio: against[name] ? of(name) / of(against[name]) : '',
  }));
  const tenants = of('a batch of 10,000 workspaces') - of('a batch without tenants');
  const share = of('a connection for a workspace') - of('a connection');
  const added = (tenants + share) / of('an insert');
  return {
    about: 'µs per call, medians',
    rows,
    goals: [
      {
        goal: 'serving workspaces in turn and the share of connections cost below 5 % of an insert',
        measured: added,
        met: added < 0.05,
      },
    ],
  };
}

/** Makes 10,000 calls that wait at the same time. */
async function batched(options) {
  const call = coalesce(
    async (items) => {
      await turn();
      return items;
    },
    { ...batches, maxWaiting: waiting, ...options },
  );
  return timed(waiting, () => Promise.all(Array.from({ length: waiting }, (_, i) => call(i))));
}

/** Takes a connection and returns it, one call after another. */
function connected(pool, owner) {
  const count = 5_000;
  return timed(count, async () => {
    for (let i = 0; i < count; i++) {
      await inCall(new CallScope(owner), async () => {
        const client = await pool.connect();
        client.release();
      });
    }
  });
}

/** Inserts a row in a transaction, four calls at a time. */
function inserted(pool, owner, quick) {
  const count = quick ? 500 : 2_000;
  const insert = (i) =>
    inCall(new CallScope(owner), () =>
      inTransaction(pool, (tx) => tx.query('insert into written values ($1, $2)', [i, 'body'])),
    );
  return timed(count, () =>
    Promise.all(
      Array.from({ length: 4 }, async (_, worker) => {
        for (let i = worker; i < count; i += 4) await insert(i);
      }),
    ),
  );
}

/** Returns microseconds per call. */
async function timed(count, work) {
  const startedAt = performance.now();
  await work();
  return ((performance.now() - startedAt) * 1_000) / count;
}
