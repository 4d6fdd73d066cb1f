import { sendAnswer } from '@rms/http';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { type ServiceState, starting, stopping } from '@rms/service';
import type { Express } from 'express';
import type { GatewayContext } from './context.ts';
import { mountOpen } from './routes/mount.ts';

/** Whether this gateway should get requests. */
export interface Probes {
  /** Set when the gateway stops. */
  draining: boolean;
  check(): Promise<Readiness>;
}

export interface Readiness {
  readonly ready: boolean;
  readonly status: 'ready' | 'not_ready' | 'draining';
  readonly dependencies: Readonly<Record<string, 'up' | 'down'>>;
}

/**
 * Ready while auth can be asked. Not so strict with the others: while resources, webhooks or Redis is away, the rest of
 * the API works, and what does not work answers 503 by itself. Probes of one moment share their calls.
 */
export function createProbes({ health, limiter }: Pick<GatewayContext, 'health' | 'limiter'>): Probes {
  const names = ['auth', 'resources', 'webhooks'] as const;
  const isServing = async (name: (typeof names)[number]) =>
    (await health[name].check({}).catch(() => undefined))?.status === ServingStatus.SERVING;
  let checking: Promise<Readiness> | undefined;
  const probes: Probes = {
    draining: false,
    check() {
      checking ??= check().finally(() => {
        checking = undefined;
      });
      return checking;
    },
  };
  async function check(): Promise<Readiness> {
    const [limits, ...services] = await Promise.all([limiter.healthy(), ...names.map(isServing)]);
    const state = (up: boolean | undefined) => (up ? ('up' as const) : ('down' as const));
    const dependencies = {
      ...Object.fromEntries(names.map((name, index) => [name, state(services[index])])),
      limiter: state(limits),
    };
    const ready = services[0] === true && !probes.draining;
    return { ready, status: probes.draining ? 'draining' : ready ? 'ready' : 'not_ready', dependencies };
  }
  return probes;
}

/**
 * For the probes beside the metrics, by the same verdict. Calls are taken while auth is away, too: those who are known
 * are served for a while, and the others hear from us what is wrong.
 */
export async function readState(probes: Probes, serving: boolean): Promise<ServiceState> {
  if (probes.draining) return stopping;
  if (!serving) return starting;
  const { ready, dependencies } = await probes.check();
  const failing = Object.entries(dependencies).flatMap(([name, state]) => (state === 'down' ? [name] : []));
  return { ready, takesCalls: true, failing };
}

/** /livez says that the process answers, /readyz whether it should get requests. */
export function mountProbes(app: Express, probes: Probes): void {
  mountOpen(app, '/livez', (response) => sendAnswer(response, { status: 200, json: '{"status":"alive"}' }));
  mountOpen(app, '/readyz', async (response) => {
    const { ready, status, dependencies } = await probes.check();
    const headers: Record<string, string> = ready ? {} : { 'Retry-After': '1' };
    sendAnswer(response, { status: ready ? 200 : 503, json: JSON.stringify({ status, dependencies }), headers });
  });
}
