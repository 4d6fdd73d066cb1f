import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitUntil } from '@rms/testkit';

export interface PortForward {
  /** URL on this machine's loopback interface. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Forwards a local port to a pod port, even if it listens only on the pod's loopback interface. */
export async function forwardPort(namespace: string, target: string, port: number): Promise<PortForward> {
  const child = spawn('kubectl', ['--namespace', namespace, 'port-forward', target, `:${port}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (text += data));
  const local = await waitUntil(
    () => {
      if (child.exitCode !== null) throw new Error(text);
      return /Forwarding from 127\.0\.0\.1:(\d+)/.exec(text)?.[1];
    },
    { what: `a port forward to ${target}` },
  );
  return {
    url: `http://127.0.0.1:${local}`,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}
