import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '@rms/testkit';
import { Client } from 'undici';
import type { Environment } from '../../api/support/api-types.ts';

/** The host of an environment's API, and a key with write access and no rate limit. */
export interface TrafficTarget {
  readonly environment: Environment;
  readonly host: string;
  readonly key: string;
}

export interface TrafficOptions {
  /** URL of the ingress controller. */
  readonly ingressUrl: string;
  readonly targets: readonly TrafficTarget[];
  /** Number of clients that keep their connection, and of clients that open a new one per request. */
  readonly keptConnections: number;
  readonly newConnections: number;
  /**
   * Whether a create without a response, or with a 5xx response, is repeated with its Idempotency-Key until it gets
   * 201, as careful clients do. Such responses count as disturbances, not as failures.
   */
  readonly retries: boolean;
}

export interface Created {
  readonly environment: Environment;
  readonly id: string;
}

export interface Traffic {
  /** Number of requests with the expected response so far. */
  responded(): number;
  /** Unexpected outcomes: "POST 503 service_unavailable", "GET other side closed". */
  readonly failures: string[];
  readonly disturbances: string[];
  /** Every create that returned 201. */
  readonly created: Created[];
  /** Waits until `count` requests have succeeded. A failure stops the traffic and ends the wait. */
  waitForResponses(count: number): Promise<void>;
  /** Stops after the responses to the requests in flight. */
  stop(): Promise<void>;
}

interface TrafficResponse {
  readonly status: number;
  readonly text: string;
}

const responseTimeoutMs = 20_000;
const responsesTimeoutMs = 240_000;
const retryMs = 100;
const keptGets = 200;

const activeTraffic = new Set<Traffic>();

/** Starts clients that create resources and read them, each sending one request at a time. */
export function startTraffic(options: TrafficOptions): Traffic {
  const { ingressUrl, targets, retries } = options;
  const failures: string[] = [];
  const disturbances: string[] = [];
  const created: Created[] = [];
  let responded = 0;
  let stopping = false;

  const worker = async (target: TrafficTarget, keepsConnection: boolean) => {
    let client = new Client(ingressUrl, { headersTimeout: responseTimeoutMs, pipelining: 1 });
    const send = async (method: 'GET' | 'POST', path: string, body: string | null, more: Record<string, string>) => {
      const headers = { host: target.host, authorization: `Bearer ${target.key}`, ...more };
      const response = await client.request({ method, path, headers, body }).then(
        async (response): Promise<TrafficResponse> => ({
          status: response.statusCode,
          text: await response.body.text(),
        }),
        (error: Error): TrafficResponse => ({ status: 0, text: error.message }),
      );
      if (!keepsConnection || response.status === 0) {
        await client.destroy();
        client = new Client(ingressUrl, { headersTimeout: responseTimeoutMs, pipelining: 1 });
      }
      return response;
    };
    const create = async (): Promise<string | undefined> => {
      const more = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
      for (;;) {
        const response = await send('POST', '/v1/resources', '{"name":"Under load"}', more);
        if (response.status === 201) {
          const { id } = (JSON.parse(response.text) as { data: { id: string } }).data;
          created.push({ environment: target.environment, id });
          responded += 1;
          return id;
        }
        const isPassing = response.status === 0 || response.status >= 500;
        (retries && isPassing ? disturbances : failures).push(inWords('POST', response));
        if (!retries || !isPassing || stopping) return undefined;
        await delay(retryMs);
      }
    };
    const mine: string[] = [];
    while (!stopping) {
      const id = await create();
      if (id !== undefined) mine.push(id);
      if (mine.length > keptGets) mine.shift();
      const read = mine[Math.floor(Math.random() * mine.length)];
      if (read === undefined || stopping) continue;
      const response = await send('GET', `/v1/resources/${read}`, null, {});
      if (response.status === 200) responded += 1;
      else (retries && response.status !== 404 ? disturbances : failures).push(inWords('GET', response));
    }
    await client.close();
  };
  const perTarget = (count: number, keepsConnection: boolean) =>
    targets.flatMap((target) => Array.from({ length: count }, () => worker(target, keepsConnection)));
  const running = [...perTarget(options.keptConnections, true), ...perTarget(options.newConnections, false)];
  const traffic: Traffic = {
    responded: () => responded,
    failures,
    disturbances,
    created,
    async waitForResponses(count) {
      const seen = () => {
        const [failure] = failures;
        if (failure !== undefined) stopping = true;
        return failure ?? responded >= count;
      };
      await waitUntil(seen, { what: `${count} responses`, timeoutMs: responsesTimeoutMs, everyMs: 50 });
    },
    async stop() {
      stopping = true;
      await Promise.all(running);
      activeTraffic.delete(traffic);
    },
  };
  activeTraffic.add(traffic);
  return traffic;
}

/** Stops traffic that a failed test has left running. */
export async function stopTraffic(): Promise<void> {
  await Promise.all([...activeTraffic].map((traffic) => traffic.stop()));
}

function inWords(method: string, { status, text }: TrafficResponse): string {
  if (status === 0) return `${method} ${text}`;
  const code = /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 80);
  return `${method} ${status} ${code}`;
}
