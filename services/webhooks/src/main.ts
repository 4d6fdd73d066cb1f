import { runMain } from '@rms/service';
import { readStartSettings } from '@rms/settings';
import { startTracing } from '@rms/tracing';
import { readWebhooksConfig } from './config.ts';
import { createWebhooksContext } from './context.ts';
import { createWebhooks } from './service.ts';

await runMain(
  () => {
    const settings = readStartSettings(process.env);
    return createWebhooks(readWebhooksConfig(settings), createWebhooksContext(settings));
  },
  { tracing: (log) => startTracing({ serviceName: 'rms-webhooks', log }) },
);
