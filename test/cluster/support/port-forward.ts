import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitUntil } from '@rms/testkit';

export interface PortForward {
  /** On loopback of this machine. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Makes a port of a pod, even one that listens on the pod's loopback only, reachable from here. */
export async function forwardPort(namespace: string, target: string, port: number): Promise<PortForward> {
  const child = spawn('kubectl', ['--namespace', namespace, 'port-forward', target, `:${port}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (said += data));
  const local = await waitUntil(
    () => {
      if (child.exitCode !== null) throw new Error(said);
      return /Forwarding from 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
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
