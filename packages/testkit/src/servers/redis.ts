import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { startProgram } from './program.ts';
import { inTemporaryFolder, type TemporaryFolder } from './temporary-folder.ts';

/** A Redis of a test's own, which it may freeze and kill. It keeps nothing over a restart. */
export interface RedisServer {
  readonly url: string;
  readonly pid: number;
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the machine's redis-server on a free port of loopback. */
export function startRedis(): Promise<RedisServer> {
  return inTemporaryFolder('redis', startIn);
}

async function startIn(folder: TemporaryFolder): Promise<RedisServer> {
  const port = await freePort();
  const args = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', folder.path, '--save', '', '--appendonly', 'no'];
  const program = await startProgram({
    name: 'Redis',
    command: 'redis-server',
    args,
    outputFile: join(folder.path, 'output'),
    ready: () => answersPing(port),
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return program.pid;
    },
    pause: program.pause,
    resume: program.resume,
    kill: program.kill,
    restart: program.restart,
    async stop() {
      await program.terminate();
      folder.remove();
    },
  };
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', (answer) => {
      resolve(answer.toString().startsWith('+PONG'));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.setTimeout(1_000, () => {
      resolve(false);
      socket.destroy();
    });
  });
}
