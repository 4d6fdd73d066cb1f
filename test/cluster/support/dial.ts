import type { Kubernetes } from './kubernetes.ts';

const timeoutMs = 3_000;

// Connects to each "host:port" and prints the outcomes as JSON.
const program = `
const targets = process.argv.slice(1);
Promise.all(targets.map((target) => new Promise((resolve) => {
  const [host, port] = target.split(':');
  const socket = require('node:net').connect({ host, port: Number(port) });
  const end = (how) => { socket.destroy(); resolve(how); };
  socket.setTimeout(${timeoutMs}, () => end('no answer'));
  socket.on('connect', () => end('connected')).on('error', (error) => end(error.code));
}))).then((answers) => console.log(JSON.stringify(answers)));`;

/** Returns the names of targets ("host:port") that a pod can connect to, tested from inside the pod. */
export async function reachedFrom(
  kubernetes: Kubernetes,
  pod: string,
  targets: ReadonlyMap<string, string>,
): Promise<string[]> {
  const names = [...targets.keys()];
  const output = await kubernetes.exec(`pod/${pod}`, ['node', '-e', program, ...targets.values()]);
  const responses = JSON.parse(output) as string[];
  return names.filter((_, i) => responses[i] === 'connected').sort();
}
