import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

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

const program = join(import.meta.dirname, 'main.ts');

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

/** Runs main.ts. Tests need the files immediately, and the library that creates certificates is asynchronous. */
function run(...args: string[]): void {
  execFileSync(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
}
