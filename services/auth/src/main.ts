import { startTracing } from '@rms/net/tracing';
import { runMain } from '@rms/runtime/service';
import { readStartSettings } from '@rms/runtime/settings';
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
