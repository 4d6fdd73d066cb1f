import { once } from 'node:events';
import { createServer } from 'node:net';
import { startFailure } from '@rms/runtime/service/start-failure';
import { type Settings, SettingsError } from '@rms/runtime/settings';

/** Address that the installation listens on, and the setting that changes it. */
export interface OwnAddress {
  readonly setting: string;
  readonly host: string;
  readonly port: number;
}

/** Returns the listeners' addresses for clients. */
export function publicAddresses({ HOST, PORT, SANDBOX_PORT, DASHBOARD_PORT }: Settings): OwnAddress[] {
  return [
    { setting: 'PORT', host: HOST, port: PORT },
    { setting: 'SANDBOX_PORT', host: HOST, port: SANDBOX_PORT },
    { setting: 'DASHBOARD_PORT', host: HOST, port: DASHBOARD_PORT },
  ];
}

/** Throws an error with the setting's name if nothing can listen on one of the addresses. */
export async function checkPorts(addresses: readonly OwnAddress[]): Promise<void> {
  for (const { setting, host, port } of addresses) {
    const server = createServer();
    try {
      server.listen(port, host);
      await once(server, 'listening');
    } catch (error) {
      throw new SettingsError(`${setting}: ${startFailure(error)}`);
    }
    await once(server.close(), 'close');
  }
}
