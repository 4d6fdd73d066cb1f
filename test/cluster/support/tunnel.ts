import { setMaxListeners } from 'node:events';
import { Agent, Pool, request } from 'undici';

export interface Tunnel {
  close(): Promise<void>;
}

interface Waiting {
  readonly id: string;
  readonly port: number;
  readonly method: 'POST';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Questions that wait at the gate at once. */
const askers = 8;
const ofConnection = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect'];

/**
 * Fetches the requests that wait at the gate in the cluster (pods/gate.mjs) and answers them by the receivers on
 * loopback. A receiver that never answers leaves its caller waiting.
 */
export function openTunnel(controlUrl: string): Tunnel {
  const gate = new Pool(controlUrl, { connections: 64, headersTimeout: 0 });
  const receivers = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const stopped = new AbortController();
  const { signal } = stopped;
  // Every request under way listens to it.
  setMaxListeners(0, signal);

  const pass = async ({ id, port, method, path, headers, body }: Waiting) => {
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name)));
    const answer = await request(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: kept,
      body: Buffer.from(body, 'base64'),
      dispatcher: receivers,
      signal,
    }).then(
      async (response) => ({
        status: response.statusCode,
        headers: without(response.headers, ofConnection),
        body: Buffer.from(await response.body.arrayBuffer()).toString('base64'),
      }),
      // Nobody listens there any more, or the receiver has broken off.
      () => ({ status: 502, headers: {}, body: '' }),
    );
    const done = await gate.request({ method: 'POST', path: `/answers/${id}`, body: JSON.stringify(answer), signal });
    await done.body.dump();
  };

  const ask = async () => {
    while (!signal.aborted) {
      const { statusCode, body } = await gate.request({ method: 'GET', path: '/next', signal });
      if (statusCode !== 200) await body.dump();
      else void pass((await body.json()) as Waiting).catch(() => {});
    }
  };
  const asking = Promise.all(Array.from({ length: askers }, ask)).catch((error: unknown) => {
    if (!signal.aborted) process.stderr.write(`the tunnel to the gate has ended: ${String(error)}\n`);
  });
  return {
    async close() {
      stopped.abort();
      await asking;
      await Promise.all([gate.destroy(), receivers.destroy()]);
    },
  };
}

function without(headers: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
