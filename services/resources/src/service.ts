import { createRoomWatch, showPools } from '@rms/db';
import { createRelay } from '@rms/outbox';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { createGrpcService, type GrpcService, rpcService } from '@rms/rpc';
import { showHousekeeping } from '@rms/service';
import { callers } from './callers.ts';
import type { ResourcesConfig } from './config.ts';
import type { ResourcesContext } from './context.ts';
import { createHousekeeping } from './idempotency/housekeeping.ts';
import { batchCreateResources } from './rpc/batch-create-resources.ts';
import { batchDeleteResources } from './rpc/batch-delete-resources.ts';
import { batchGetResources } from './rpc/batch-get-resources.ts';
import { batchUpdateResources } from './rpc/batch-update-resources.ts';
import { changeTogether } from './rpc/change-together.ts';
import { listResources } from './rpc/list-resources.ts';
import type { WriteParts } from './rpc/parts.ts';

/** Resources, their idempotent creation, their totals, and the events of their changes up to the bus. */
export function createResources(config: ResourcesConfig, context: ResourcesContext): GrpcService {
  const { pool, bus, log } = context;
  const { topic, partitions, replication } = config;
  const relay = createRelay({ pool, bus, topic, partitions, log, metrics: context.metrics });
  showPools(context.metrics, { resources: pool });
  const room = createRoomWatch();
  const parts: WriteParts = {
    pool,
    partitions,
    committed(touched) {
      room.wrote();
      relay.committed(touched);
    },
    failed: room.failed,
  };
  const change = changeTogether(parts);
  return createGrpcService({
    name: 'resources',
    host: config.host,
    port: config.port,
    log,
    metrics: context.metrics,
    security: context.security,
    callers,
    metricsAddress: config.metricsAddress,
    services: [
      rpcService(ResourcesService, {
        batchCreateResources: batchCreateResources(parts),
        batchGetResources: batchGetResources(parts),
        batchUpdateResources: batchUpdateResources(change),
        batchDeleteResources: batchDeleteResources(change),
        listResources: listResources({ pool, pageTokenKeys: config.pageTokenKeys }),
      }),
    ],
    workers: [relay, createHousekeeping({ pool, log, onSuccess: showHousekeeping(context.metrics) })],
    // Not the bus: while it is away, writes go on and their events wait in the outbox.
    checks: {
      async database() {
        await pool.query('select 1');
      },
      'room in the database': room.check,
    },
    open: () => bus.start([{ topic, partitions, replication }]),
    async close() {
      await bus.stop();
      await pool.end();
    },
  });
}
