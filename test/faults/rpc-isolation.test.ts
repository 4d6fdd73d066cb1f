import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { CallOptions } from '@rms/rpc';
import { describeWith, perSuite, startNetwork, startReceiver } from '@rms/testkit';
import pg from 'pg';
import { untilAtRest, untilEventsStored } from './rpc/at-rest.ts';
import type { Caller, Entry } from './rpc/entry.ts';
import { mixedBatches } from './rpc/mixed-batches.ts';
import { makeOwned, type Owned, responsesTo } from './rpc/owned.ts';
import { allRows, rowsOf } from './rpc/rows.ts';
import { connectAll, services } from './rpc/rpc.ts';
import { tables } from './rpc/tables.ts';

interface Method {
  readonly desc: DescMethod;
  readonly entry: Entry;
  /** Name of the client that has the method. */
  readonly client: keyof typeof services;
}

const methods = Object.entries(services).flatMap(([name, service]: [string, DescService]) => {
  const client = name as keyof typeof services;
  const entries: Readonly<Record<string, Entry>> = tables[client];
  return service.methods.flatMap((desc): [string, Method][] => {
    const entry = entries[desc.localName];
    return entry ? [[`${service.name}.${desc.name}`, { desc, entry, client }]] : [];
  });
});
const bogus = 99 as Environment;

describeWith(['redis', 'kafka'], 'gRPC methods called with data of another workspace', () => {
  let owned: Owned;
  let other: string;

  const env = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  const network = perSuite(() => startNetwork({ env }));
  const rpc = perSuite(() => connectAll(network));
  const db = perSuite(
    async () => {
      const client = new pg.Client({ connectionString: network.env.DATABASE_URL });
      await client.connect();
      return client;
    },
    { end: (client) => client.end() },
  );
  const receiver = perSuite(() => startReceiver({ path: '' }));
  beforeAll(async () => {
    receiver.respondWith(({ path }, response) => void response.writeHead(path === '/fails' ? 500 : 200).end());
    const created = async (name: string) => (await rpc.workspaces.createWorkspace({ name })).workspace?.id ?? '';
    other = await created('Other');
    owned = await makeOwned(rpc, await created('Owner'), receiver);
    await untilAtRest(db);
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
    const known = Object.entries(tables).flatMap(([client, entries]) =>
      Object.keys(entries).map((name) => `${services[client as keyof typeof services].typeName}/${name}`),
    );
    const there = (await servicesOfProtos()).flatMap(({ typeName, methods }) =>
      methods.map(({ localName }) => `${typeName}/${localName}`),
    );
    expect(known.sort()).toEqual(there.sort());
    expect(methods.length).toBe(known.length);
  });

  test.each(methods)('%s neither returns nor changes data of others', async (_, method) => {
    const { entry } = method;
    const before = await stateOfOwner();
    const callers: [string, Caller][] =
      entry.keyedBy === 'installation' ? [['anybody', owned.owner]] : outsidersTo(owned, entry);
    for (const [who, caller] of callers) {
      for (const [call, expected] of callsOf(method, caller)) {
        const outcome = await outcomeOf(call);
        expect([who, outcome]).toMatchObject([who, typeof expected === 'string' ? { refused: expected } : expected]);
        if (!entry.reveals) revealsNothing(outcome);
      }
    }
    expect(await stateOfOwner()).toEqual(before);
  });

  test.each(methods.filter(([, { entry }]) => entry.keyedBy !== 'installation'))(
    '%s never applies to all workspaces or environments',
    async (_, method) => {
      const { entry } = method;
      await untilEventsStored(db);
      const before = await allRows(db);
      const { workspaceId } = owned.owner;
      const outcomesOf = (caller: Caller) => Promise.all(callsOf(method, caller).map(([call]) => outcomeOf(call)));

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

  /** Returns the calls of a method by a caller, with their expected outcomes for anybody but the owner. */
  function callsOf({ desc, entry, client }: Method, caller: Caller): [() => Promise<unknown>, string | object][] {
    const { workspaceId } = caller;
    const keys = { tenant: caller, workspace: { workspaceId }, installation: {} }[entry.keyedBy];
    const call = rpc[client][desc.localName as never] as (request: object, options?: CallOptions) => unknown;
    return entry.calls(owned, caller).map(([request, outcome, options]) => {
      const response = () => call({ ...keys, ...request }, options);
      const isStream = desc.methodKind === 'server_streaming';
      return [async () => (isStream ? allOf(response() as AsyncIterable<unknown>) : response()), outcome];
    });
  }

  function revealsNothing(outcome: unknown): void {
    const text = toText(outcome);
    expect(owned.markers.filter((marker) => text.includes(marker))).toEqual([]);
  }
});

/** Collects all responses of a stream that ends with its deadline. */
async function allOf(stream: AsyncIterable<unknown>): Promise<{ responses: unknown[] }> {
  const responses: unknown[] = [];
  try {
    for await (const response of stream) responses.push(response);
  } catch (error) {
    if ((error as { code?: string }).code !== 'timeout') throw error;
  }
  return { responses };
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
