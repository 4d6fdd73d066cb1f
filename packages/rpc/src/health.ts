import { RmsError } from '@rms/errors';
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { type RpcService, rpcService } from './server-adapter.ts';

/** The state that grpc.health.v1 answers with, for the whole server ("") and each of its services. */
export class HealthState {
  readonly #states = new Map<string, ServingStatus>();
  /** Each wakes one watcher. */
  readonly #wakers = new Set<() => void>();
  #closed = false;

  constructor(services: readonly string[]) {
    for (const name of ['', ...services]) this.#states.set(name, ServingStatus.NOT_SERVING);
  }

  /** Sets one service, or all and the server itself. */
  set(serving: boolean, service?: string): void {
    const state = serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    for (const name of service === undefined ? [...this.#states.keys()] : [service]) this.#states.set(name, state);
    this.#wakeAll();
  }

  /** All not serving, for good; watchers are told and their calls end, so that they don't hold up the server's end. */
  close(): void {
    this.#closed = true;
    this.set(false);
  }

  /** The health service over this state. */
  rpcService(): RpcService {
    return rpcService(Health, {
      check: async ({ service }) => {
        const status = this.#states.get(service);
        if (status === undefined) throw new RmsError('not_found', { message: `unknown service "${service}"` });
        return { status };
      },
      watch: ({ service }, { signal }) => this.#watch(service, signal),
    });
  }

  async *#watch(service: string, signal: AbortSignal) {
    let told: ServingStatus | undefined;
    while (!signal.aborted) {
      const status = this.#states.get(service) ?? ServingStatus.SERVICE_UNKNOWN;
      if (status !== told) {
        told = status;
        yield { status };
      } else if (this.#closed) {
        return;
      } else {
        await this.#nextChange(signal);
      }
    }
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#wakers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#wakers.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  #wakeAll(): void {
    for (const wake of [...this.#wakers]) wake();
  }
}
