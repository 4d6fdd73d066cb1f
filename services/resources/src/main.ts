import { startTracing } from '@rms/net/tracing';
import { runMain } from '@rms/runtime/service';
import { readStartSettings } from '@rms/runtime/settings';
import { readResourcesConfig } from './config.ts';
import { createResourcesContext } from './context.ts';
import { createResources } from './service.ts';

await runMain(
  () => {
    const settings = readStartSettings(process.env);
    return createResources(readResourcesConfig(settings), createResourcesContext(settings));
  },
  { tracing: (log) => startTracing({ serviceName: 'rms-resources', log }) },
);
