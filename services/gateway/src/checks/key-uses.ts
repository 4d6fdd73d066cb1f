import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { KeyUsesService } from '@rms/proto/rms/auth/v1/key_uses_service_pb';
import type { Principal } from '@rms/proto/rms/common/v1/common_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/service';

const flushEveryMs = 5_000;
/** Clients that are remembered between two reports; others are not told of. */
const clientsKept = 10_000;
const longestUserAgent = 256;

interface Use {
  readonly principal: Principal;
  readonly address: string;
  readonly userAgent: string;
  lastMs: number;
  requests: number;
}

/** Remembers who has used which key, and reports it to auth in batches: no request waits for that. */
export class KeyUses {
  readonly #auth: Pick<RpcClient<typeof KeyUsesService>, 'batchReportKeyUses'>;
  readonly #log: Logger;
  #uses = new Map<string, Use>();
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(auth: Pick<RpcClient<typeof KeyUsesService>, 'batchReportKeyUses'>, log: Logger) {
    this.#auth = auth;
    this.#log = log;
  }

  note(principal: Principal, address: string, userAgent: string | undefined): void {
    const agent = userAgent === undefined ? '' : userAgent.slice(0, longestUserAgent);
    const client = `${principal.keyId} ${address} ${agent}`;
    const known = this.#uses.get(client);
    if (known) {
      known.lastMs = Date.now();
      known.requests += 1;
    } else if (this.#uses.size < clientsKept) {
      this.#uses.set(client, { principal, address, userAgent: agent, lastMs: Date.now(), requests: 1 });
    }
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  }

  /** Reports what is left. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  /** Reports what was noted since the last report. What cannot be reported is tried again with the next one. */
  async flush(): Promise<void> {
    this.#flushing ??= this.#report().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  async #report(): Promise<void> {
    if (this.#uses.size === 0) return;
    const reported = this.#uses;
    this.#uses = new Map();
    try {
      await this.#auth.batchReportKeyUses({ uses: [...reported.values()].map(toMessage) });
    } catch (err) {
      this.#log.warn(
        { err, clients: reported.size },
        'uses of keys could not be reported; they come with the next report',
      );
      this.#putBack(reported);
    }
  }

  #putBack(reported: Map<string, Use>): void {
    for (const [client, use] of reported) {
      const newer = this.#uses.get(client);
      if (newer) newer.requests += use.requests;
      else if (this.#uses.size < clientsKept) this.#uses.set(client, use);
    }
  }
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
