import { readSettings, runMain } from '@rms/service';
import { readAuthConfig } from './config.ts';
import { createAuthContext } from './context.ts';
import { createAuth } from './service.ts';

await runMain(() => {
  const settings = readSettings(process.env);
  return createAuth(readAuthConfig(settings), createAuthContext(settings));
});
