import { connect } from 'node:net';

/** Sends one command to Redis and returns the raw reply. Arguments must not contain spaces. */
export function queryRedis(url: string, command: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(`${command}\r\nQUIT\r\n`));
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}
