import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { RmsError } from '@rms/errors';

/** Makes and checks hashes of passwords, a few at a time and never on the event loop. */
export interface PasswordHasher {
  /** Argon2id as a PHC string. Throws `service_unavailable` while too many others wait. */
  hash(password: string): Promise<string>;
  /**
   * Whether it is the password of the hash. Without a hash the same work is done for nothing: an account that does not
   * exist, or has no password, cannot be told by the time. Throws `service_unavailable` while too many others wait.
   */
  verify(passwordHash: string | undefined, password: string): Promise<boolean>;
  /** Whether a hash was made at another cost than new ones are. */
  isOutdated(passwordHash: string): boolean;
}

/** Argon2id above what OWASP asks for at least: 32 MiB, and some 30 ms of one processor. */
const cost = { memoryCost: 32_768, timeCost: 3, parallelism: 1 };
const currentForm = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`;
/** Two of the four threads that Node has for such work, and 64 MiB. */
const atOnce = 2;
/** Some seconds of waiting. */
const longestQueue = 100;

/** One for a process, which all its handlers share. */
export function createPasswordHasher(): PasswordHasher {
  const turns = createTurns(atOnce, longestQueue);
  let nobodys: Promise<string> | undefined;
  return {
    hash: (password) => turns(() => hash(normalized(password), cost)),
    verify: (passwordHash, password) =>
      turns(async () => {
        nobodys ??= hash(randomBytes(32), cost);
        const isRight = await verify(passwordHash ?? (await nobodys), normalized(password));
        return isRight && passwordHash !== undefined;
      }),
    isOutdated: (passwordHash) => !passwordHash.startsWith(currentForm),
  };
}

/** Keyboards differ in how they compose what looks the same (NIST SP 800-63B, 5.1.1.2). No password is longer than the cut. */
function normalized(password: string): string {
  return password.slice(0, 1_024).normalize('NFKC');
}

/** Lets `atOnce` run, and `longest` wait in the order in which they came; who comes then is refused. */
function createTurns(atOnce: number, longest: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < atOnce) running += 1;
    else if (waiting.length >= longest) throw new RmsError('service_unavailable', { retryAfterSeconds: 1 });
    // Who ends hands its turn to the next.
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
