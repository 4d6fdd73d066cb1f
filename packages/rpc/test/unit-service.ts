import { toRmsError } from '@rms/base/errors';
import { createGrpcService, type GrpcService, type GrpcServiceOptions, loopbackOnly } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';

/** Creates a service without methods, workers and checks on a free port of loopback. */
export function createUnitService(overrides: Partial<GrpcServiceOptions>): GrpcService {
  return createGrpcService({
    name: 'unit',
    metrics: createMetrics('unit'),
    metricsAddress: undefined,
    security: loopbackOnly,
    callers: {},
    host: '127.0.0.1',
    port: 0,
    log: createLogger({ name: 'unit', level: 'silent' }),
    services: [],
    translateError: toRmsError,
    workers: [],
    checks: {},
    open: async () => {},
    close: async () => {},
    ...overrides,
  });
}
