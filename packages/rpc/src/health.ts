import { RmsError } from '@rms/base/errors';
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { type RpcService, rpcService } from './server-adapter.ts';

/** Health state served by grpc.health.v1, for the whole server ("") and each of its services. */
export class HealthState {
  readonly #states = new Map<string, ServingStatus>();
  /** Functions that wake one watcher each. */
  readonly #wakers = new Set<() => void>();
  #closed = false;

  constructor(services: readonly string[]) {
    for (const name of ['', ...services]) this.#states.set(name, ServingStatus.NOT_SERVING);
  }

  /** Sets the state of a service, or of all services and the server. */
  set(serving: boolean, service?: string): void {
    const state = serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    for (const name of service === undefined ? [...this.#states.keys()] : [service]) this.#states.set(name, state);
    this.#wakeAll();
  }

  /**
   * Sets all states to not serving permanently. Watchers receive the final state and end, so that they do not delay the
   * shutdown.
   */
  close(): void {
    this.#closed = true;
    this.set(false);
  }

  /** Returns the health service for this state. */
  rpcService(): RpcService {
    return rpcService(Health, {
      check: async ({ service }) => {
        const status = this.#states.get(service);
        if (status === undefined) throw new RmsError('not_found', { message: `unknown service "${service}"` });
        return { status };
      },
      watch: ({ service }, { signal }) => this.watch(service, signal),
    });
  }

  /** Yields a service's state, and its changes until the signal aborts. */
  async *watch(service: string, signal: AbortSignal) {
    let lastSent: ServingStatus | undefined;
    while (!signal.aborted) {
      const status = this.#states.get(service) ?? ServingStatus.SERVICE_UNKNOWN;
      if (status !== lastSent) {
        lastSent = status;
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
