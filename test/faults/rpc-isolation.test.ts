import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { describeWith, type Network, type Receiver, startNetwork, startReceiver } from '@rms/testkit';
import pg from 'pg';
import { untilAtRest } from './rpc/at-rest.ts';
import type { Attempt, Caller, Entry } from './rpc/entry.ts';
import { mixedBatches } from './rpc/mixed-batches.ts';
import { makeOwned, type Owned, responsesTo } from './rpc/owned.ts';
import { allRows, rowsOf } from './rpc/rows.ts';
import { connectAll, type Rpc } from './rpc/rpc.ts';
import { tables } from './rpc/tables.ts';

const methods = tables.flatMap(([service, entries]) =>
  service.methods.flatMap((method): [string, Entry][] => {
    const entry = entries[method.localName];
    return entry ? [[nameOf(service, method), entry]] : [];
  }),
);
const bogus = 99 as Environment;

describeWith(['redis', 'kafka'], 'gRPC methods called with data of another workspace', () => {
  let network: Network;
  let receiver: Receiver;
  let db: pg.Client;
  let rpc: Rpc;
  let owned: Owned;
  let other: string;

  beforeAll(async () => {
    receiver = await startReceiver({ path: '' });
    receiver.respondWith(({ path }, response) => void response.writeHead(path === '/fails' ? 500 : 200).end());
    const env = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
    network = await startNetwork({ env });
    rpc = connectAll(network);
    db = new pg.Client({ connectionString: network.env.DATABASE_URL });
    await db.connect();
    const created = async (name: string) => (await rpc.workspaces.createWorkspace({ name })).workspace?.id ?? '';
    other = await created('Other');
    owned = await makeOwned(rpc, await created('Owner'), receiver);
    await untilAtRest(db);
  });
  afterAll(async () => {
    rpc?.close();
    await db?.end();
    await network?.stop();
    await receiver?.close();
  });

  const callsOfOwner = () => receiver.requests.filter(({ json }) => owned.markers.includes(json.id)).length;
  const stateOfOwner = async () => ({
    rows: await rowsOf(db, owned.owner.workspaceId, 'live'),
    responses: await responsesTo(rpc, owned.owner),
    calls: callsOfOwner(),
  });
  const outsidersTo = ({ owner: { workspaceId } }: Owned, entry: Entry): [string, Caller][] => {
    const ofOther: [string, Caller][] = [
      ['another workspace', { workspaceId: other, environment: Environment.LIVE }],
      ['the sandbox of another workspace', { workspaceId: other, environment: Environment.SANDBOX }],
    ];
    // A method keyed by workspace acts for the owner in either environment.
    if (entry.keyedBy === 'workspace') return ofOther;
    return [['the sandbox of the workspace', { workspaceId, environment: Environment.SANDBOX }], ...ofOther];
  };

  test('every method of every service has an entry', async () => {
    const known = tables.flatMap(([service, entries]) =>
      Object.keys(entries).map((name) => `${service.typeName}/${name}`),
    );
    const there = (await servicesOfProtos()).flatMap(({ typeName, methods }) =>
      methods.map(({ localName }) => `${typeName}/${localName}`),
    );
    expect(known.sort()).toEqual(there.sort());
    expect(methods.length).toBe(known.length);
  });

  test.each(methods)('%s neither returns nor changes data of others', async (_, entry) => {
    const before = await stateOfOwner();
    if (entry.keyedBy === 'installation') {
      for (const attempt of entry.attempts?.(rpc, owned) ?? []) {
        const outcome = await expectOutcome('anybody', attempt);
        if (!entry.reveals) revealsNothing(outcome);
      }
    } else {
      for (const [who, caller] of outsidersTo(owned, entry)) {
        for (const attempt of entry.attempts(rpc, caller, owned)) revealsNothing(await expectOutcome(who, attempt));
      }
    }
    expect(await stateOfOwner()).toEqual(before);
  });

  test.each(methods.filter(([, entry]) => entry.keyedBy !== 'installation'))(
    '%s never applies to all workspaces or environments',
    async (_, entry) => {
      if (entry.keyedBy === 'installation') return;
      const before = await allRows(db);
      const { workspaceId } = owned.owner;
      const outcomesOf = (caller: Caller) =>
        Promise.all(entry.attempts(rpc, caller, owned).map(([call]) => outcomeOf(call)));

      const unattributed = await outcomesOf({ workspaceId: '', environment: Environment.LIVE });
      unattributed.forEach(revealsNothing);
      expect(unattributed.every(isNothing) || entry.emptyWorkspace !== undefined).toBe(true);
      if (entry.keyedBy === 'tenant') {
        for (const named of [other, workspaceId]) {
          const outcomes = await outcomesOf({ workspaceId: named, environment: bogus });
          expect(outcomes.filter((outcome) => !isRefusal(outcome)).map(toText)).toEqual([]);
        }
        if (entry.unspecified === 'refused') {
          expect((await outcomesOf({ workspaceId, environment: Environment.UNSPECIFIED })).every(isRefusal)).toBe(true);
        } else {
          (await outcomesOf({ workspaceId: other, environment: Environment.UNSPECIFIED })).forEach(revealsNothing);
        }
      }
      expect(await allRows(db)).toEqual(before);
    },
  );

  test('in a batch with items of several callers, each item reaches only data of its caller', async () => {
    const before = await stateOfOwner();
    const [live, sandbox] = [Environment.LIVE, Environment.SANDBOX];
    const account = await rpc.workspaces.createWorkspace({ name: 'Mixed' });
    const workspaceId = account.workspace?.id ?? '';
    const callers = [
      { workspaceId, environment: live },
      { workspaceId, environment: sandbox },
      { workspaceId: other, environment: live },
    ];
    const own = ['0 > 0', '1 > 1', '2 > 2'];
    expect(await mixedBatches(rpc, callers)).toEqual({
      created: [expect.any(String), expect.any(String), expect.any(String)],
      replayed: [],
      found: own,
      updated: own,
      names: ['of 0', 'of 1', 'of 2'],
      deleted: own,
      // Revoking keys is keyed by workspace, so it covers both environments.
      revoked: ['0 > 1', '1 > 0', ...own],
    });
    expect(await stateOfOwner()).toEqual(before);
  });

  /** Makes a call, expects this outcome, and returns the actual one. */
  async function expectOutcome(who: string, [call, expected]: Attempt): Promise<unknown> {
    const outcome = await outcomeOf(call);
    if (typeof expected === 'string') expect([who, outcome]).toMatchObject([who, { refused: expected }]);
    else expect([who, outcome]).toMatchObject([who, expected]);
    return outcome;
  }

  function revealsNothing(outcome: unknown): void {
    const text = toText(outcome);
    expect(owned.markers.filter((marker) => text.includes(marker))).toEqual([]);
  }
});

function nameOf(service: DescService, method: DescMethod): string {
  return `${service.name}.${method.name}`;
}

/** Returns a call's response, or { refused: its error code }. */
async function outcomeOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return { refused: (error as { code?: string }).code ?? String(error) };
  }
}

/** Whether the whole call, or every item of a batch, was rejected. */
function isRefusal(outcome: unknown): boolean {
  const { refused, results } = outcome as {
    refused?: string;
    results?: { error?: object; result?: { case: string } }[];
  };
  if (results) return results.every(({ error, result }) => error !== undefined || result?.case === 'error');
  return refused !== undefined;
}

/** Whether the call was rejected or its response is empty. */
function isNothing(outcome: unknown): boolean {
  if (isRefusal(outcome)) return true;
  return Object.entries(outcome as object).every(
    ([name, value]) =>
      ['$typeName', 'page', 'pageSize'].includes(name) || !value || (Array.isArray(value) && value.length === 0),
  );
}

/** Converts to JSON without the statuses of items, because their messages contain the requested ids. */
function toText(value: unknown): string {
  return JSON.stringify(value, (_, inner) => {
    if (typeof inner === 'bigint') return inner.toString();
    if (inner?.$typeName === 'google.rpc.Status') return undefined;
    return inner?.$typeName === undefined ? inner : { ...inner, $typeName: undefined };
  });
}

/** Returns every service that has a proto. */
async function servicesOfProtos(): Promise<DescService[]> {
  const gen = join(import.meta.dirname, '..', '..', 'packages', 'proto', 'gen');
  const files = readdirSync(join(gen, 'rms'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  );
  const modules = await Promise.all(files.map((file) => import(`@rms/proto/rms/${file.slice(0, -'.js'.length)}`)));
  return modules.flatMap((module: object) =>
    Object.values(module).filter((value): value is DescService => (value as { kind?: string })?.kind === 'service'),
  );
}
