import { startTracing } from '@rms/net/tracing';
import { runMain } from '@rms/runtime/service';
import { readStartSettings } from '@rms/runtime/settings';
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
