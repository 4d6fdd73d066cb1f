import { runMain } from '@rms/service';
import { readStartSettings } from '@rms/settings';
import { startTracing } from '@rms/tracing';
import { readAuthConfig } from './config.ts';
import { createAuthContext } from './context.ts';
import { createAuth } from './service.ts';

await runMain(
  () => {
    const settings = readStartSettings(process.env);
    return createAuth(readAuthConfig(settings), createAuthContext(settings));
  },
  { tracing: (log) => startTracing({ serviceName: 'rms-auth', log }) },
);
