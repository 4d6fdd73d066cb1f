import { constants, setPriority } from 'node:os';
import { type Behavior, freePort, type HostileReceiver, startHostileReceiver } from '@rms/testkit';

const body = (bytes: number) => 'b'.repeat(bytes);

/** Behavior of each path of the receiver. */
const behaviors: Readonly<Record<string, Behavior>> = {
  '/healthy': { kind: 'respond' },
  '/slow': { kind: 'respond', afterMs: 2_000 },
  '/silent': { kind: 'silent' },
  '/drip-head': { kind: 'drip', part: 'head' },
  '/drip-body': { kind: 'drip', part: 'body' },
  '/endless-body': { kind: 'endless body' },
  '/huge-body': { kind: 'huge body', bytes: 50_000_000 },
  '/huge-head': { kind: 'huge head', bytes: 1_000_000 },
  '/blank-header': { kind: 'blank header', status: 500 },
  '/private-keys': { kind: 'respond', status: 500, body: '-----BEGIN PRIVATE KEY-----'.repeat(9_000) },
  '/endless-hints': { kind: 'endless hints' },
  '/reset': { kind: 'reset' },
  '/early': { kind: 'respond early' },
  '/close-on-reuse': { kind: 'close on reuse' },
  '/error': { kind: 'respond', status: 500, body: body(100_000) },
  '/overloaded': { kind: 'respond', status: 429, headers: { 'retry-after': '1' }, body: body(1_000) },
  '/unavailable': { kind: 'respond', status: 503, afterMs: 500, close: true },
};

/** URLs that misbehave in every known way, and a healthy one. */
export interface HostileEndpoints {
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

export async function startHostileEndpoints(): Promise<HostileEndpoints> {
  const receiver: HostileReceiver = await startHostileReceiver({ listeners: ['http', 'mute', 'closing', 'resetting'] });
  for (const [path, behavior] of Object.entries(behaviors)) await receiver.behave(path, behavior);
  // The receiver is not part of the system with the processor time that the tenants share.
  setPriority(receiver.pid, constants.priority.PRIORITY_LOW);
  const { mute, closing, resetting } = receiver.ports;
  return {
    urls: [
      ...Object.keys(behaviors).map((path) => receiver.url(path)),
      ...[mute, closing, resetting, await freePort()].map((port) => `http://127.0.0.1:${port}/`),
    ],
    stop: () => receiver.stop(),
  };
}
