import { toTenant } from '@rms/base/tenant';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type Handlers, timestampFromMs } from '@rms/rpc';
import { startOf } from '../usage/usage.ts';
import { readMonth } from '../usage/usage-queries.ts';
import type { HandlerParts } from './handler.ts';

export function getUsage({ pool, now }: HandlerParts): Handlers<typeof UsageService>['getUsage'] {
  return async (request) => {
    const nowMs = now();
    const month = await readMonth(pool, toTenant(request), startOf('month', nowMs));
    return {
      month: {
        startTime: timestampFromMs(startOf('month', nowMs)),
        endTime: timestampFromMs(startOf('month', nowMs, 1)),
        used: BigInt(month?.used ?? 0),
        ...(month ? { quota: BigInt(month.quota) } : {}),
      },
    };
  };
}
