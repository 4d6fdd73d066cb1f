import { readSettings, runMain } from '@rms/service';
import { readWebhooksConfig } from './config.ts';
import { createWebhooksContext } from './context.ts';
import { createWebhooks } from './service.ts';

await runMain(() => {
  const settings = readSettings(process.env);
  return createWebhooks(readWebhooksConfig(settings), createWebhooksContext(settings));
});
