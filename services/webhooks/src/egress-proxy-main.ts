import { createLogger } from '@rms/logging';
import { createMetrics } from '@rms/metrics';
import { runMain } from '@rms/service';
import { readStartSettings } from '@rms/settings';
import { readEgressProxyConfig } from './egress-proxy/config.ts';
import { createEgressProxy } from './egress-proxy/service.ts';

await runMain(() => {
  const settings = readStartSettings(process.env);
  const log = createLogger({ name: 'egress-proxy', level: settings.LOG_LEVEL, levelFile: settings.LOG_LEVEL_FILE });
  return createEgressProxy(readEgressProxyConfig(settings), { log, metrics: createMetrics('egress-proxy') });
});
