import { startTracing } from '@rms/net/tracing';
import { runMain } from '@rms/runtime/service';
import { readStartSettings } from '@rms/runtime/settings';
import { readDashboardConfig } from './config.ts';
import { createDashboardContext } from './context.ts';
import { createDashboard } from './service.ts';

await runMain(
  () => {
    const settings = readStartSettings(process.env);
    return createDashboard(readDashboardConfig(settings), createDashboardContext(settings));
  },
  { tracing: (log) => startTracing({ serviceName: 'rms-dashboard', log }) },
);
