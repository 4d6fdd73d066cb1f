import { RmsError } from '@rms/base/errors';
import type { OpenFeed } from './clients.ts';
import type { ServiceName, Services } from './services.ts';

/** Runs `work` with clients for the named services, then closes the clients. */
export async function withServices<Name extends ServiceName, T>(
  names: readonly Name[],
  work: (services: Pick<Services, Name>, openFeed: OpenFeed) => Promise<T>,
): Promise<T> {
  // Loaded on demand, because help and usage errors need no RPC library.
  const { createClients } = await import('./clients.ts');
  const { services, openFeed } = await createClients(names);
  try {
    return await work(services, openFeed);
  } finally {
    for (const client of Object.values<{ close(): void } | undefined>(services)) client?.close();
  }
}

/** Returns the alerts client. Throws if this installation has no alerts service. */
export function alertsOf({ alerts }: Pick<Services, 'alerts'>): NonNullable<Services['alerts']> {
  if (alerts) return alerts;
  throw new RmsError('service_unavailable', {
    message: 'This installation has no alerts service (ALERTS_ADDRESS is "none").',
  });
}
