import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { newId } from '@rms/base/ids';
import { createInProcessBus } from '@rms/bus';
import { migrations as auditMigrations } from '@rms/postgres/audit';
import { CallContextSchema, Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import type { Resource } from '@rms/proto/rms/resources/v1/resource_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { createClient, fromStatusMessage, type GrpcService, loopbackOnly, type RpcClient } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { type TestDatabase, testDatabase, testPool } from '@rms/testkit';
import { createResources, type ResourcesConfig } from '../src/index.ts';
import { migrations, outboxMigrations as outbox } from '../src/migrations.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const topic = 'rms.resource-events.v1';

export type Client = RpcClient<typeof ResourcesService>;

/**
 * Starts instances of the real service on one real database, each with its own client and keys. Events stay in the
 * outbox.
 */
export async function startResources(
  instances = 1,
  keysOf: (instance: number) => ResourcesConfig['pageTokenKeys'] = () => [Buffer.alloc(32, 1)],
  eraseOnDelete = false,
  prepare: (database: TestDatabase) => Promise<unknown> = async () => {},
) {
  const database = await testDatabase([auditMigrations, outbox, migrations]);
  await prepare(database);
  // This bus has no consumer, so appended events stay in the outbox for the test to read.
  const bus = createInProcessBus({ log });
  const started: { service: GrpcService; client: Client }[] = [];
  for (let i = 0; i < instances; i += 1) {
    const pool = testPool({ url: database.url, max: 8, applicationName: 'resources', log });
    const keyedPool = testPool({ url: database.url, max: 5, applicationName: 'resources-keyed', plans: 'kept', log });
    const config = {
      host: '127.0.0.1',
      port: 0,
      metricsAddress: undefined,
      pageTokenKeys: keysOf(i),
      eraseOnDelete,
      topic,
      partitions: 6,
      replication: 1,
    };
    const service = createResources(config, {
      pool,
      keyedPool,
      bus,
      log,
      metrics: createMetrics('resources'),
      security: loopbackOnly,
    });
    await service.start();
    const client = createClient(ResourcesService, { target: service.address, timeoutMs: 60_000 });
    started.push({ service, client });
  }
  return {
    address: started[0]?.service.address as string,
    database,
    client: started[0]?.client as Client,
    clients: started.map(({ client }) => client),
    async stop() {
      // Ends the publishing of events; otherwise the relay would wait for a consumer until its drain ends.
      await bus.stop();
      for (const { client, service } of started) {
        client.close();
        await service.stop();
      }
      await database.drop();
    },
  };
}

/** Makes a caller in a new workspace. */
export function newCaller(environment = Environment.LIVE): MessageInitShape<typeof CallContextSchema> {
  return create(CallContextSchema, {
    requestId: newId('req'),
    principal: { workspaceId: newId('ws'), environment, keyId: newId('key'), scope: Scope.ADMIN },
  });
}

/** Returns the resource in an item's result, or throws its error. */
export function itemOf(result: { result: { case: string | undefined; value?: unknown } } | undefined): Resource {
  if (result?.result.case === 'error') throw fromStatusMessage(result.result.value as never);
  return result?.result.value as Resource;
}

/** Creates one resource. */
export async function createOne(client: Client, context: ReturnType<typeof newCaller>, name = 'thing', more = {}) {
  const { results } = await client.batchCreateResources({ requests: [{ context, name, ...more }] });
  return itemOf(results[0]);
}

/** Reads the outbox events of the caller's workspace, in order, with their bodies as JSON. */
export async function eventsOf({ pool }: TestDatabase, context: ReturnType<typeof newCaller>) {
  const { rows } = await pool.query<{ payload: Buffer; partition: number }>(
    'select payload, partition from outbox.events where workspace_id = $1 order by id',
    [context.principal?.workspaceId],
  );
  return rows.map(({ payload, partition }) => {
    const event = fromBinary(ResourceEventSchema, payload);
    return { ...event, partition, json: JSON.parse(Buffer.from(event.body).toString('utf8')) };
  });
}

/** Reads the caller's totals per status, from the counters and from the rows. */
export async function countsOf({ pool }: TestDatabase, context: ReturnType<typeof newCaller>) {
  const { rows } = await pool.query<{ status: string; counted: number; stored: number }>(
    `select status, sum(count)::int as counted,
            (select count(*)::int from resources.resources as r
              where r.workspace_id = $1 and r.status = c.status) as stored
       from resources.resource_counts as c where workspace_id = $1 group by status order by status`,
    [context.principal?.workspaceId],
  );
  return rows;
}
