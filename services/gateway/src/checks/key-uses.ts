import { FairShare } from '@rms/async';
import type { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import type { Principal } from '@rms/proto/rms/common/v1/common_pb';
import { type RpcClient, timestampFromMs } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import { PeriodicReport } from '../periodic-report.ts';

const flushEveryMs = 5_000;
/** Clients counted between two reports. Uses by further clients are dropped. */
const clientsKept = 10_000;
/**
 * Keep a key from using up the space of other keys, and a workspace that of other workspaces. Auth stores only the 50
 * most recent clients of a key.
 */
const clientsPerKey = 100;
const clientsPerWorkspace = 1_000;
const maxUserAgentLength = 256;

interface Use {
  readonly principal: Principal;
  readonly address: string;
  readonly userAgent: string;
  lastMs: number;
  requests: number;
}

interface Refusal {
  readonly principal: Principal;
  readonly errorCode: string;
  readonly atMs: number;
}

/** Counts the uses of keys per client, remembers their last refused requests, and reports both to auth in batches. Requests never wait for a report. */
export class KeyUses extends PeriodicReport {
  readonly #auth: Pick<RpcClient<typeof KeyUsesService>, 'batchReportKeyUses'>;
  readonly #log: Logger;
  #uses = new Map<string, Use>();
  /** Clients in #uses, by ID of their workspace, and by ID of their key. */
  readonly #ofWorkspaces = new FairShare({ total: clientsKept, perTenant: clientsPerWorkspace });
  readonly #ofKeys = new FairShare({ perTenant: clientsPerKey });
  /** The last refused request by key ID. */
  #refusals = new Map<string, Refusal>();

  constructor(auth: Pick<RpcClient<typeof KeyUsesService>, 'batchReportKeyUses'>, log: Logger) {
    super(flushEveryMs);
    this.#auth = auth;
    this.#log = log;
  }

  /** Counts an admitted request. */
  note(principal: Principal, address: string, userAgent: string | undefined): void {
    const agent = userAgent === undefined ? '' : userAgent.slice(0, maxUserAgentLength);
    const client = `${principal.keyId} ${address} ${agent}`;
    const known = this.#uses.get(client);
    if (known) {
      known.lastMs = Date.now();
      known.requests += 1;
    } else this.#add(client, { principal, address, userAgent: agent, lastMs: Date.now(), requests: 1 });
  }

  /** Remembers a request that was refused because of its key. */
  noteRefusal(principal: Principal, errorCode: string): void {
    if (this.#refusals.size >= clientsKept && !this.#refusals.has(principal.keyId)) return;
    this.#refusals.set(principal.keyId, { principal, errorCode, atMs: Date.now() });
    this.collected();
  }

  /** Reports everything since the last report. Failed reports are merged into the next one. */
  protected override async report(): Promise<void> {
    if (this.#uses.size + this.#refusals.size === 0) return;
    const reported = this.#uses;
    const refused = this.#refusals;
    this.#uses = new Map();
    this.#ofWorkspaces.clear();
    this.#ofKeys.clear();
    this.#refusals = new Map();
    try {
      await this.#auth.batchReportKeyUses({
        uses: [...reported.values()].map(toMessage),
        refusals: [...refused.values()].map(toRefusalMessage),
      });
    } catch (err) {
      this.#refusals = new Map([...refused, ...this.#refusals]);
      this.#log.warn({ err, clients: reported.size }, 'could not report key uses; retrying with the next report');
      this.#requeue(reported);
      this.collected();
    }
  }

  #requeue(reported: Map<string, Use>): void {
    for (const [client, use] of reported) {
      const newer = this.#uses.get(client);
      if (newer) newer.requests += use.requests;
      else this.#add(client, use);
    }
  }

  #add(client: string, use: Use): void {
    const { keyId, workspaceId } = use.principal;
    if (!this.#ofKeys.take(keyId)) return;
    if (this.#ofWorkspaces.take(workspaceId)) {
      this.#uses.set(client, use);
      this.collected();
    } else this.#ofKeys.release(keyId);
  }
}

function toRefusalMessage({ principal: { workspaceId, environment, keyId }, errorCode, atMs }: Refusal) {
  return { workspaceId, environment, keyId, refuseTime: timestampFromMs(atMs), errorCode };
}

function toMessage({ principal, address, userAgent, lastMs, requests }: Use) {
  const { workspaceId, environment, keyId } = principal;
  return {
    workspaceId,
    environment,
    keyId,
    address,
    userAgent,
    lastUseTime: timestampFromMs(lastMs),
    requests: BigInt(requests),
  };
}
