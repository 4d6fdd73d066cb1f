import { Client } from 'undici';

/** One completed request. Times in milliseconds of performance.now(). */
export interface Sent {
  readonly gateway: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** 0 if the connection broke. */
  readonly status: number;
  /** Error code of the response; empty on success. */
  readonly code: string;
}

export interface Load {
  /** All completed requests so far. */
  readonly sent: readonly Sent[];
  /** Requests that started after this time. */
  since(atMs: number): Sent[];
  /** Stops after the responses to the requests in flight. */
  stop(): Promise<void>;
}

/** Starts clients that list resources with one key, each on its own keep-alive connection, one request at a time. */
export function startLoad(options: { gateways: readonly string[]; key: string; connectionsPerGateway: number }): Load {
  const { gateways, key, connectionsPerGateway } = options;
  const headers = { authorization: `Bearer ${key}` };
  const sent: Sent[] = [];
  let stopping = false;

  const send = async (client: Client, gateway: string) => {
    const startedAtMs = performance.now();
    const response = await client
      .request({ method: 'GET', path: '/v1/resources?per_page=1', headers })
      .then(async ({ statusCode, body }) => ({ status: statusCode, text: await body.text() }))
      .catch(() => ({ status: 0, text: '' }));
    const code = response.status >= 400 ? codeOf(response.text) : '';
    sent.push({ gateway, startedAtMs, endedAtMs: performance.now(), status: response.status, code });
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
