import type { Limits } from './limits.ts';

/** The attempts that share a limit. */
interface Load {
  attempts: number;
  /** Attempts at endpoints with a slow or failed last attempt; included in `attempts`. */
  atFailing: number;
}

/** An endpoint as counted in the shared limits. */
export interface Sharer {
  readonly workspaceId: string;
  readonly failing: boolean;
}

const none: Readonly<Load> = { attempts: 0, atFailing: 0 };

/**
 * Counts the attempts in flight of this instance and of each workspace. Endpoints with a slow or failed last attempt
 * may together use half of each limit. The other half remains for the others.
 */
export class Budget {
  readonly #limits: Limits;
  /** Per workspace; the empty key is the instance. */
  readonly #loads = new Map<string, Load>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Attempts in flight. */
  get attempts(): number {
    return this.#load('').attempts;
  }

  /** Returns how many more attempts at an endpoint the shared limits allow. */
  free({ workspaceId, failing }: Sharer): number {
    const { attempts, attemptsOfWorkspace } = this.#limits;
    return Math.min(this.#free('', attempts, failing), this.#free(workspaceId, attemptsOfWorkspace, failing));
  }

  /** Returns how many more attempts a workspace may have in flight. */
  freeOfWorkspace(workspaceId: string): number {
    return this.free({ workspaceId, failing: false });
  }

  /** Returns how many more attempts each workspace with attempts in flight may start. */
  freeByWorkspace(): Map<string, number> {
    const ids = [...this.#loads.keys()].filter((key) => key !== '');
    return new Map(ids.map((id) => [id, this.freeOfWorkspace(id)]));
  }

  /** Adds attempts, or removes them if the number is negative. */
  add({ workspaceId, failing }: Sharer, attempts: number): void {
    for (const key of ['', workspaceId]) {
      const load = this.#loads.get(key) ?? { ...none };
      load.attempts += attempts;
      if (failing) load.atFailing += attempts;
      if (load.attempts === 0) this.#loads.delete(key);
      else this.#loads.set(key, load);
    }
  }

  #load(key: string): Readonly<Load> {
    return this.#loads.get(key) ?? none;
  }

  #free(key: string, most: number, failing: boolean): number {
    const { attempts, atFailing } = this.#load(key);
    const free = Math.max(0, most - attempts);
    return failing ? Math.max(0, Math.min(free, Math.ceil(most * this.#limits.partOfFailing) - atFailing)) : free;
  }
}
