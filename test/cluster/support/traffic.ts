import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '@rms/testkit';
import { Client } from 'undici';
import type { Environment } from '../../api/support/api-types.ts';

/** Where an environment's API is, and a key that may write and has no limit. */
export interface Entrance {
  readonly environment: Environment;
  readonly host: string;
  readonly key: string;
}

export interface TrafficOptions {
  /** Where the ingress listens. */
  readonly ingressUrl: string;
  readonly entrances: readonly Entrance[];
  /** Clients that keep their connection, and clients that open a new one for each request. */
  readonly keptConnections: number;
  readonly newConnections: number;
  /**
   * Whether a create that is not answered, or with 5xx, is sent again with its Idempotency-Key, as a careful client does,
   * until it is answered 201. Such answers count as disturbances, not as failures.
   */
  readonly retries: boolean;
}

export interface Created {
  readonly environment: Environment;
  readonly id: string;
}

export interface Traffic {
  /** Requests that were answered as they should, so far. */
  answered(): number;
  /** What else came back, in words: "POST 503 service_unavailable", "GET other side closed". */
  readonly failures: string[];
  readonly disturbances: string[];
  /** Every create that was answered 201. */
  readonly created: Created[];
  /** Waits until so many have been answered, or something has failed, which ends it. */
  waitForAnswered(count: number): Promise<void>;
  /** Ends it once the requests under way are answered. */
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const answerTimeoutMs = 20_000;
const answersTimeoutMs = 240_000;
const retryMs = 100;
const keptGets = 200;

const underWay = new Set<Traffic>();

/** Clients that create resources and read them again, one request after the other each. */
export function startTraffic(options: TrafficOptions): Traffic {
  const { ingressUrl, entrances, retries } = options;
  const failures: string[] = [];
  const disturbances: string[] = [];
  const created: Created[] = [];
  let answered = 0;
  let stopping = false;

  const worker = async (entrance: Entrance, keepsConnection: boolean) => {
    let client = new Client(ingressUrl, { headersTimeout: answerTimeoutMs, pipelining: 1 });
    const send = async (method: 'GET' | 'POST', path: string, body: string | null, more: Record<string, string>) => {
      const headers = { host: entrance.host, authorization: `Bearer ${entrance.key}`, ...more };
      const answer = await client.request({ method, path, headers, body }).then(
        async (response): Promise<Answer> => ({ status: response.statusCode, text: await response.body.text() }),
        (error: Error): Answer => ({ status: 0, text: error.message }),
      );
      if (!keepsConnection || answer.status === 0) {
        await client.destroy();
        client = new Client(ingressUrl, { headersTimeout: answerTimeoutMs, pipelining: 1 });
      }
      return answer;
    };
    const create = async (): Promise<string | undefined> => {
      const more = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
      for (;;) {
        const answer = await send('POST', '/v1/resources', '{"name":"Under load"}', more);
        if (answer.status === 201) {
          const { id } = (JSON.parse(answer.text) as { data: { id: string } }).data;
          created.push({ environment: entrance.environment, id });
          answered += 1;
          return id;
        }
        const isPassing = answer.status === 0 || answer.status >= 500;
        (retries && isPassing ? disturbances : failures).push(inWords('POST', answer));
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
      const answer = await send('GET', `/v1/resources/${read}`, null, {});
      if (answer.status === 200) answered += 1;
      else (retries && answer.status !== 404 ? disturbances : failures).push(inWords('GET', answer));
    }
    await client.close();
  };
  const perEntrance = (count: number, keepsConnection: boolean) =>
    entrances.flatMap((entrance) => Array.from({ length: count }, () => worker(entrance, keepsConnection)));
  const running = [...perEntrance(options.keptConnections, true), ...perEntrance(options.newConnections, false)];
  const traffic: Traffic = {
    answered: () => answered,
    failures,
    disturbances,
    created,
    async waitForAnswered(count) {
      const seen = () => {
        const [failure] = failures;
        if (failure !== undefined) stopping = true;
        return failure ?? answered >= count;
      };
      await waitUntil(seen, { what: `${count} answers`, timeoutMs: answersTimeoutMs, everyMs: 50 });
    },
    async stop() {
      stopping = true;
      await Promise.all(running);
      underWay.delete(traffic);
    },
  };
  underWay.add(traffic);
  return traffic;
}

/** Ends what a test that has failed has left running. */
export async function stopTraffic(): Promise<void> {
  await Promise.all([...underWay].map((traffic) => traffic.stop()));
}

function inWords(method: string, { status, text }: Answer): string {
  if (status === 0) return `${method} ${text}`;
  const code = /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 80);
  return `${method} ${status} ${code}`;
}
