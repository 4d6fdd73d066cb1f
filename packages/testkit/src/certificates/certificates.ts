import { join } from 'node:path';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';

/** A certificate authority with its files in one folder. For tests only: keys are not encrypted. */
export interface Certificates {
  readonly caFile: string;
  readonly caKeyFile: string;
  /**
   * Issues a certificate for a server and client of this name, in NAME.pem and NAME.key of the folder. Replaces
   * existing files.
   */
  issue(name: string, options?: IssueOptions): { certFile: string; keyFile: string };
}

export interface IssueOptions {
  /** Subject alternative names (host names and IP addresses); default: the name, localhost, 127.0.0.1 and ::1. */
  readonly sans?: readonly string[];
  /** Validity in days from now; negative for an expired certificate. */
  readonly days?: number;
}

/** A request to thread-main.ts, which sends an error or undefined to `outcome` and then sets `done`. */
export interface CertificateRequest {
  readonly args: readonly string[];
  readonly done: Int32Array<SharedArrayBuffer>;
  readonly outcome: MessagePort;
}

const timeoutMs = 60_000;
let thread: Worker | undefined;

/** Creates a certificate authority. Creates the folder if it is missing. */
export function makeCertificates(folder: string): Certificates {
  run('authority', folder);
  return {
    caFile: join(folder, 'ca.pem'),
    caKeyFile: join(folder, 'ca.key'),
    issue(name, { sans = [name, 'localhost', '127.0.0.1', '::1'], days = 365 } = {}) {
      run('issue', folder, name, `${days}`, ...sans);
      return { certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key`) };
    },
  };
}

/**
 * Runs a command of thread-main.ts, and blocks until it is complete: tests need the files immediately, and the library
 * that creates certificates is asynchronous. A process per command would take more than ten times as much CPU.
 */
function run(...args: string[]): void {
  thread ??= new Worker(join(import.meta.dirname, 'thread-main.ts'), { execArgv: [] });
  thread.unref();
  const { port1, port2: outcome } = new MessageChannel();
  const done = new Int32Array(new SharedArrayBuffer(4));
  thread.postMessage({ args, done, outcome } satisfies CertificateRequest, [outcome]);
  if (Atomics.wait(done, 0, 0, timeoutMs) === 'timed-out') throw new Error(`no certificate within ${timeoutMs} ms`);
  const failure = receiveMessageOnPort(port1)?.message;
  port1.close();
  if (failure) throw failure;
}
