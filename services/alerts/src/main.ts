import { runMain } from '@rms/service';
import { readStartSettings } from '@rms/settings';
import { startTracing } from '@rms/tracing';
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
