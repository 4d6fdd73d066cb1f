import { createIds } from '@rms/base/ids';
import { eventRetentionMs } from '@rms/bus';
import { createDatabaseWatch, createDiskSpaceWatch, showPools, translatePgError } from '@rms/postgres/db';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import { callers } from './callers.ts';
import type { ResourcesConfig } from './config.ts';
import type { ResourcesContext } from './context.ts';
import { createHousekeeping } from './housekeeping.ts';
import { createRelay } from './outbox/relay.ts';
import { batchCreateResources } from './rpc/batch-create-resources.ts';
import { batchDeleteResources } from './rpc/batch-delete-resources.ts';
import { batchGetResources } from './rpc/batch-get-resources.ts';
import { batchUpdateResources } from './rpc/batch-update-resources.ts';
import { changeInBatch } from './rpc/change-in-batch.ts';
import { countContents } from './rpc/count-contents.ts';
import { deleteContents } from './rpc/delete-contents.ts';
import { listResources } from './rpc/list-resources.ts';
import type { WriteParts } from './rpc/parts.ts';

/** Creates the resources service: resource CRUD, idempotent creation, totals, and the relay that publishes events. */
export function createResources(config: ResourcesConfig, context: ResourcesContext): GrpcService {
  const { pool, keyedPool, bus, log } = context;
  const { topic, partitions, replication } = config;
  const watch = createDatabaseWatch(keyedPool, { outbox: 'select from outbox.events order by partition, id' });
  const { clock } = watch;
  const queue = watch.queues.outbox;
  const relay = createRelay({ pool, keyedPool, queue, bus, topic, partitions, log, metrics: context.metrics });
  showPools(context.metrics, { resources: pool, resources_keyed: keyedPool });
  const diskSpace = createDiskSpaceWatch();
  const parts: WriteParts = {
    pool,
    keyedPool,
    partitions,
    eraseOnDelete: config.eraseOnDelete,
    clock,
    newId: createIds(clock.nowMs),
    created(events) {
      diskSpace.wrote();
      relay.created(events);
    },
    committed(touched) {
      diskSpace.wrote();
      relay.committed(touched);
    },
    failed: diskSpace.failed,
  };
  const change = changeInBatch(parts);
  return createGrpcService({
    name: 'resources',
    host: config.host,
    port: config.port,
    log,
    metrics: context.metrics,
    security: context.security,
    callers,
    metricsAddress: config.metricsAddress,
    translateError: translatePgError,
    services: [
      rpcService(ResourcesService, {
        batchCreateResources: batchCreateResources(parts),
        batchGetResources: batchGetResources(parts),
        batchUpdateResources: batchUpdateResources(change),
        batchDeleteResources: batchDeleteResources(change),
        listResources: listResources({ pool, pageTokenKeys: config.pageTokenKeys }),
      }),
      rpcService(WorkspaceDeletionService, {
        countContents: countContents(parts),
        deleteContents: deleteContents(parts),
      }),
    ],
    workers: [watch.worker, relay, createHousekeeping({ pool, log, metrics: context.metrics })],
    // Does not check the bus: during a broker outage, writes continue and their events stay in the outbox.
    checks: {
      database: watch.check,
      'free disk space': diskSpace.check,
    },
    async open() {
      await watch.start();
      await bus.start([{ topic, partitions, replication, retentionMs: eventRetentionMs }]);
    },
    async close() {
      await bus.stop();
      await Promise.all([pool.end(), keyedPool.end()]);
    },
  });
}
