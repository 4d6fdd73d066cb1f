import { runMain } from '@rms/service';
import { readSettings } from '@rms/settings';
import { startTracing } from '@rms/tracing';
import { readDashboardConfig } from './config.ts';
import { createDashboardContext } from './context.ts';
import { createDashboard } from './service.ts';

await runMain(
  () => {
    const settings = readSettings(process.env);
    return createDashboard(readDashboardConfig(settings), createDashboardContext(settings));
  },
  { tracing: (log) => startTracing({ serviceName: 'rms-dashboard', log }) },
);
