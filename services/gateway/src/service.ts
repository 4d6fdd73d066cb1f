import type { KeyEnvironment } from '@rms/api-key';
import { type Service, type Supervisor, superviseWorkers } from '@rms/service';
import { createApp } from './app.ts';
import { createBackend } from './backend/backend.ts';
import { Principals } from './checks/principals.ts';
import type { GatewayConfig } from './config.ts';
import type { GatewayContext } from './context.ts';
import { type Listener, listen } from './listener.ts';
import { createReadiness } from './readiness.ts';

export interface GatewayService extends Service {
  /** "http://host:port" of each listener; known once the service has started. */
  readonly urls: { readonly live: string; readonly sandbox: string };
}

const drainMs = 10_000;

/** The REST API: one listener for each environment. */
export function createGateway(config: GatewayConfig, context: GatewayContext): GatewayService {
  const { auth, resources, webhooks, limiter, log } = context;
  const backend = createBackend(resources, webhooks);
  const readiness = createReadiness(context);
  const urls = { live: '', sandbox: '' };
  const listeners: Listener[] = [];
  let supervisor: Supervisor | undefined;
  let stopping: Promise<void> | undefined;

  const appOf = (environment: KeyEnvironment) => {
    const principals = new Principals(auth, environment);
    limiter.onMarksLost(() => principals.forgetAll());
    const probes = { notReady: () => (stopping ? 'stopping' : readiness.notReady()) };
    return createApp({ environment, config, principals, limiter, backend, probes, log });
  };
  const open = async (environment: KeyEnvironment, port: number) => {
    const listener = await listen(appOf(environment), config.host, port);
    listeners.push(listener);
    const host = config.host.includes(':') ? `[${config.host}]` : config.host;
    urls[environment] = `http://${host}:${listener.port}`;
  };
  const stop = async () => {
    await Promise.all(listeners.map((listener) => listener.stop(drainMs)));
    await supervisor?.stop();
    for (const client of [auth, resources, webhooks]) client.close();
    await limiter.stop();
  };

  return {
    name: 'gateway',
    urls,
    async start() {
      await limiter.start();
      await open('live', config.livePort);
      await open('sandbox', config.sandboxPort);
      await readiness.probe();
      supervisor = superviseWorkers([readiness.worker], log);
      log.info(urls, 'serving');
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}
