import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { Callers } from '@rms/rpc';

/** Who counts reports what it has counted; people's tools do the rest. */
export const callers: Callers = {
  gateway: [UsageService.method.reportUsage],
  webhooks: [UsageService.method.reportUsage],
  dashboard: 'all',
  rms: 'all',
};
