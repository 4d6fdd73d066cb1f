import { startTracing } from '@rms/net/tracing';
import { runMain } from '@rms/runtime/service';
import { readStartSettings } from '@rms/runtime/settings';
import { readAlertsConfig } from './config.ts';
import { createAlertsContext } from './context.ts';
import { createAlerts } from './service.ts';

await runMain(
  () => {
    const settings = readStartSettings(process.env);
    return createAlerts(readAlertsConfig(settings), createAlertsContext(settings));
  },
  { tracing: (log) => startTracing({ serviceName: 'rms-alerts', log }) },
);
