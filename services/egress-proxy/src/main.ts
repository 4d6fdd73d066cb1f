import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { runMain } from '@rms/runtime/service';
import { readStartSettings } from '@rms/runtime/settings';
import { readEgressProxyConfig } from './config.ts';
import { createEgressProxy } from './service.ts';

await runMain(() => {
  const settings = readStartSettings(process.env);
  const log = createLogger({ name: 'egress-proxy', level: settings.LOG_LEVEL, levelFile: settings.LOG_LEVEL_FILE });
  return createEgressProxy(readEgressProxyConfig(settings), { log, metrics: createMetrics('egress-proxy') });
});
