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

/** Concurrent long polls at the gate. */
const clients = 8;
const ofConnection = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect'];

/**
 * Fetches held requests from the gate in the cluster (pods/gate.mjs), forwards them to receivers on loopback, and
 * returns the responses. If a receiver never responds, its caller keeps waiting.
 */
export function openTunnel(controlUrl: string): Tunnel {
  const gate = new Pool(controlUrl, { connections: 64, headersTimeout: 0 });
  const receivers = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const stopped = new AbortController();
  const { signal } = stopped;
  // Every request in flight adds a listener to the signal.
  setMaxListeners(0, signal);

  const pass = async ({ id, port, method, path, headers, body }: Waiting) => {
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name)));
    const response = await request(`http://127.0.0.1:${port}${path}`, {
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
      // The receiver is closed, or has reset the connection.
      () => ({ status: 502, headers: {}, body: '' }),
    );
    const done = await gate.request({ method: 'POST', path: `/answers/${id}`, body: JSON.stringify(response), signal });
    await done.body.dump();
  };

  const ask = async () => {
    while (!signal.aborted) {
      const { statusCode, body } = await gate.request({ method: 'GET', path: '/next', signal });
      if (statusCode !== 200) await body.dump();
      else void pass((await body.json()) as Waiting).catch(() => {});
    }
  };
  const running = Promise.all(Array.from({ length: clients }, ask)).catch((error: unknown) => {
    if (!signal.aborted) process.stderr.write(`the tunnel to the gate failed: ${String(error)}\n`);
  });
  return {
    async close() {
      stopped.abort();
      await running;
      await Promise.all([gate.destroy(), receivers.destroy()]);
    },
  };
}

function without(headers: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
