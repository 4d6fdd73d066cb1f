import closeWithGrace from 'close-with-grace';
import { createLogger } from './logger.ts';
import type { Service } from './service.ts';
import { SettingsError } from './settings.ts';

/** How long a service may drain before it is ended the hard way. */
const drainLimitMs = 25_000;

/**
 * Runs one service in this process: starts it, stops it on SIGTERM, SIGINT or an uncaught error, and exits.
 * A wrong setting, a port in use and the like end in one clear line and exit code 1.
 */
export async function runMain(create: () => Promise<Service> | Service): Promise<void> {
  const log = createLogger({ name: 'main' });
  let service: Service | undefined;
  closeWithGrace({ delay: drainLimitMs, logger: false }, async ({ err, signal }) => {
    if (err) log.fatal({ err }, 'uncaught error');
    else log.info({ signal }, 'stopping');
    await service?.stop();
    log.info('stopped');
  });
  try {
    service = await create();
    await service.start();
  } catch (error) {
    process.stderr.write(`rms: ${startFailure(error)}\n`);
    if (!(error instanceof SettingsError)) log.debug({ err: error }, 'start failed');
    await service?.stop().catch(() => {});
    process.exit(1);
  }
}

/** One line for a person who has just tried to start the service. */
export function startFailure(error: unknown): string {
  const { code, message, port } = error as { code?: string; message?: string; port?: number };
  if (code === 'EADDRINUSE') return `port ${port} is in use; end what listens there or choose another`;
  if (code === 'EACCES' && port !== undefined) return `port ${port} may not be opened by this user`;
  return (message ?? String(error)).split('\n')[0] ?? '';
}
