import { runMain } from '@rms/service';
import { readStartSettings } from '@rms/settings';
import { startTracing } from '@rms/tracing';
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
