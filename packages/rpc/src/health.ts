import { EventEmitter, on } from 'node:events';
import { RmsError } from '@rms/errors';
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { type RpcService, rpcService } from './server-adapter.ts';

/** The state that grpc.health.v1 answers with, for the whole server ("") and each of its services. */
export class HealthState {
  readonly #states = new Map<string, ServingStatus>();
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor(services: readonly string[]) {
    for (const name of ['', ...services]) this.#states.set(name, ServingStatus.NOT_SERVING);
  }

  /** Sets one service, or all and the server itself. */
  set(serving: boolean, service?: string): void {
    const state = serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    for (const name of service === undefined ? [...this.#states.keys()] : [service]) {
      if (this.#states.get(name) === state) continue;
      this.#states.set(name, state);
      this.#changes.emit(name, state);
    }
  }

  /** The health service over this state. */
  rpcService(): RpcService {
    const states = this.#states;
    const changes = this.#changes;
    return rpcService(Health, {
      async check({ service }) {
        const status = states.get(service);
        if (status === undefined) throw new RmsError('not_found', { message: `unknown service "${service}"` });
        return { status };
      },
      async *watch({ service }, { signal }) {
        let last = states.get(service) ?? ServingStatus.SERVICE_UNKNOWN;
        yield { status: last };
        try {
          for await (const [status] of on(changes, service, { signal })) {
            if (status === last) continue;
            last = status as ServingStatus;
            yield { status: last };
          }
        } catch (error) {
          if (!signal.aborted) throw error;
        }
      },
    });
  }
}
