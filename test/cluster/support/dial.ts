import type { Kubernetes } from './kubernetes.ts';

const patienceMs = 3_000;

// Connects to each "host:port" and says what came of it.
const program = `
const targets = process.argv.slice(1);
Promise.all(targets.map((target) => new Promise((resolve) => {
  const [host, port] = target.split(':');
  const socket = require('node:net').connect({ host, port: Number(port) });
  const end = (how) => { socket.destroy(); resolve(how); };
  socket.setTimeout(${patienceMs}, () => end('no answer'));
  socket.on('connect', () => end('connected')).on('error', (error) => end(error.code));
}))).then((answers) => console.log(JSON.stringify(answers)));`;

/** Which of these targets ("host:port") a pod can connect to, asked from inside of it. */
export async function reachedFrom(
  kubernetes: Kubernetes,
  pod: string,
  targets: ReadonlyMap<string, string>,
): Promise<string[]> {
  const names = [...targets.keys()];
  const output = await kubernetes.exec(`pod/${pod}`, ['node', '-e', program, ...targets.values()]);
  const answers = JSON.parse(output) as string[];
  return names.filter((_, i) => answers[i] === 'connected').sort();
}
