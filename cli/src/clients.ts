import { RmsError } from '@rms/base/errors';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { createClient, type RpcClient } from '@rms/rpc/client';
import { createRpcSecurity } from '@rms/rpc/security';
import { readSettings, type Settings } from '@rms/runtime/settings';
import { localServices } from './local.ts';
import { operatorContext } from './operator.ts';
import { note } from './print.ts';
import { definitions, type ServiceName, type Services } from './services.ts';

/**
 * Creates a client for the event feed at the current address of the webhooks service. The caller closes it. Rejects
 * with `service_unavailable` if no address is known.
 */
export type OpenFeed = () => Promise<RpcClient<typeof EventsService>>;

const timeoutMs = 15_000;

/** Creates clients for the named services. The caller closes them. */
export async function createClients<Name extends ServiceName>(
  names: readonly Name[],
): Promise<{ services: Pick<Services, Name>; openFeed: OpenFeed }> {
  const settings = readSettings(process.env);
  const { isLocal, token, ...targets } = addresses(settings);
  const say = (_: object, message: string) => note(message);
  const log = { info() {}, warn: say, error: say };
  const commonWith = (GRPC_TOKEN: string) => ({
    timeoutMs,
    context: operatorContext(),
    security: createRpcSecurity({ ...settings, GRPC_TOKEN }, log),
  });
  const common = commonWith(token);
  const clients = names.map(async (name) => {
    const { at, load } = definitions[name];
    const target = targets[at];
    return [name, target === undefined ? undefined : createClient(await load(), { target, ...common })] as const;
  });
  const openFeed = async () => {
    const now = addresses(settings);
    // npm start deletes services.json when it stops. The default address could belong to another installation.
    if (isLocal && !now.isLocal) throw new RmsError('service_unavailable');
    return createClient(await definitions.events.load(), { target: now.webhooks, ...commonWith(now.token) });
  };
  return { services: Object.fromEntries(await Promise.all(clients)) as unknown as Pick<Services, Name>, openFeed };
}

/**
 * Returns the service addresses: from the environment; otherwise from the file that `npm start` writes to DATA_DIR;
 * otherwise the defaults.
 */
function addresses(settings: Settings): {
  auth: string;
  resources: string;
  webhooks: string;
  alerts: string | undefined;
  token: string;
  isLocal: boolean;
} {
  const local = localServices(settings);
  return {
    auth: local.auth ?? settings.AUTH_ADDRESS,
    resources: local.resources ?? settings.RESOURCES_ADDRESS,
    webhooks: local.webhooks ?? settings.WEBHOOKS_ADDRESS,
    alerts: local.alerts ?? settings.ALERTS_ADDRESS,
    token: settings.GRPC_TOKEN || (local.token ?? ''),
    isLocal: local.webhooks !== undefined,
  };
}
