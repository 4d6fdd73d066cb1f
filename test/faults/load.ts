import { Client } from 'undici';

/** One answered request. Times in milliseconds of performance.now(). */
export interface Sent {
  readonly gateway: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** 0: the connection broke. */
  readonly status: number;
  /** The error code of the answer; empty for a success. */
  readonly code: string;
}

export interface Load {
  /** Everything that was answered so far. */
  readonly sent: readonly Sent[];
  /** Those whose first byte left after a moment. */
  since(atMs: number): Sent[];
  /** Ends it once the requests under way are answered. */
  stop(): Promise<void>;
}

/** Clients that list resources with one key, each on a keep-alive connection of its own, one request after the other. */
export function startLoad(options: { gateways: readonly string[]; key: string; connectionsPerGateway: number }): Load {
  const { gateways, key, connectionsPerGateway } = options;
  const headers = { authorization: `Bearer ${key}` };
  const sent: Sent[] = [];
  let stopping = false;

  const send = async (client: Client, gateway: string) => {
    const startedAtMs = performance.now();
    const answer = await client
      .request({ method: 'GET', path: '/v1/resources?per_page=1', headers })
      .then(async ({ statusCode, body }) => ({ status: statusCode, text: await body.text() }))
      .catch(() => ({ status: 0, text: '' }));
    const code = answer.status >= 400 ? codeOf(answer.text) : '';
    sent.push({ gateway, startedAtMs, endedAtMs: performance.now(), status: answer.status, code });
  };
  const running = gateways.flatMap((gateway) =>
    Array.from({ length: connectionsPerGateway }, async () => {
      const client = new Client(gateway);
      while (!stopping) await send(client, gateway);
      await client.close();
    }),
  );
  return {
    sent,
    since: (atMs) => sent.filter(({ startedAtMs }) => startedAtMs > atMs),
    async stop() {
      stopping = true;
      await Promise.all(running);
    },
  };
}

function codeOf(text: string): string {
  return (JSON.parse(text) as { error: { code: string } }).error.code;
}
