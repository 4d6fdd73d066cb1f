export interface QueueLimits {
  /** Attempts at once of one webhook. */
  readonly inFlight: number;
  /** Attempts at once of all webhooks of a workspace. */
  readonly inFlightOfWorkspace: number;
  /** Attempts at once of all workspaces. */
  readonly inFlightOfAll: number;
  /** Jobs of all webhooks that wait here for an attempt. */
  readonly waiting: number;
}

/** What is here, of a workspace or of all. */
interface Load {
  waiting: number;
  inFlight: number;
  /** Of `inFlight`: at endpoints whose last attempt was slow or failed. */
  atFailing: number;
}

/** A webhook, as far as its share depends on it. */
export interface Sharer {
  readonly workspaceId: string;
  readonly inFlight: number;
  /** Its last attempt was slow or failed. */
  readonly failing: boolean;
}

/** A workspace may have this part of the attempts that are left to all, … */
const workspaceShareOfSlots = 1 / 4;
/** … a webhook this part of those that are left to its workspace, … */
const webhookShareOfSlots = 1 / 4;
/** … and endpoints that fail this part of all slots together, so that however many of them leave others room. */
const failingShareOfSlots = 1 / 2;
/** Jobs of one webhook may wait in this part of the room that is left to its workspace. */
const webhookShareOfRoom = 1 / 8;

/**
 * Divides attempts and room by dynamic thresholds: each workspace, and each webhook within its workspace, may have a part
 * of what is left, not of what there is. One alone gets most of it; the more there are that take all that they can, the
 * less each gets; and however many there are, something is left for whoever comes next.
 */
export class Shares {
  readonly #limits: QueueLimits;
  readonly #workspaces = new Map<string, Load>();
  readonly #all: Load = { waiting: 0, inFlight: 0, atFailing: 0 };
  /** Workspaces that were passed over, until half of their share is free again. */
  readonly #passedOver = new Set<string>();

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Jobs under way and waiting. */
  get jobs(): number {
    return this.#all.inFlight + this.#all.waiting;
  }

  /** Attempts under way. */
  get inFlight(): number {
    return this.#all.inFlight;
  }

  /** Further attempts that a webhook may have now. At least one, as long as its workspace may have any at all. */
  slots({ workspaceId, inFlight, failing }: Sharer): number {
    const { inFlightOfWorkspace, inFlightOfAll } = this.#limits;
    const load = this.#loadOf(workspaceId);
    const ofWorkspace = Math.floor((inFlightOfAll - this.#all.inFlight) * workspaceShareOfSlots);
    const left = Math.min(inFlightOfWorkspace, ofWorkspace) - load.inFlight;
    const leftToFailing = Math.min(
      Math.ceil(inFlightOfWorkspace * failingShareOfSlots) - load.atFailing,
      Math.ceil(inFlightOfAll * failingShareOfSlots) - this.#all.atFailing,
    );
    if (left < 1 || (failing && leftToFailing < 1)) return 0;
    const most = Math.max(1, Math.floor(left * webhookShareOfSlots)) - inFlight;
    return Math.max(0, failing ? Math.min(most, leftToFailing) : most);
  }

  /** Jobs of one webhook that may wait, unless its workspace is full. */
  waitingOfWebhook(workspaceId: string): number {
    const left = this.#roomOfWorkspace - this.#loadOf(workspaceId).waiting;
    return Math.max(1, Math.floor(left * webhookShareOfRoom));
  }

  /** Whether no more jobs of a workspace may wait. What is asked of it then comes later: see {@link fullWorkspaces}. */
  isFull(workspaceId: string): boolean {
    const full = this.#loadOf(workspaceId).waiting >= this.#roomOfWorkspace;
    if (full) this.#passedOver.add(workspaceId);
    return full;
  }

  /** Workspaces that are full, or were and still have more than half of their share. */
  fullWorkspaces(): string[] {
    for (const id of this.#workspaces.keys()) this.isFull(id);
    for (const id of this.#passedOver) this.freed(id);
    return [...this.#passedOver];
  }

  isPassedOver(workspaceId: string): boolean {
    return this.#passedOver.has(workspaceId);
  }

  /** Whether a workspace that was full has room again; says so once. */
  freed(workspaceId: string): boolean {
    return (
      this.#passedOver.has(workspaceId) &&
      this.#loadOf(workspaceId).waiting <= this.#roomOfWorkspace / 2 &&
      this.#passedOver.delete(workspaceId)
    );
  }

  count(workspaceId: string, change: Partial<Load>): void {
    const load = this.#loadOf(workspaceId);
    for (const one of [load, this.#all]) {
      one.waiting += change.waiting ?? 0;
      one.inFlight += change.inFlight ?? 0;
      one.atFailing += change.atFailing ?? 0;
    }
    if (load.waiting === 0 && load.inFlight === 0) this.#workspaces.delete(workspaceId);
    else this.#workspaces.set(workspaceId, load);
  }

  /** As much as is left. */
  get #roomOfWorkspace(): number {
    return this.#limits.waiting - this.#all.waiting;
  }

  #loadOf(workspaceId: string): Load {
    return this.#workspaces.get(workspaceId) ?? { waiting: 0, inFlight: 0, atFailing: 0 };
  }
}
