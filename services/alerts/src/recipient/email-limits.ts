import { createHash } from 'node:crypto';
import { type Pace, type Queryable, throttleTable } from '@rms/db';
import { RmsError } from '@rms/errors';

export const throttles = throttleTable('alerts.throttles');

/** Limits on emails that users request. The limits per recipient apply across all workspaces. */
const paces = {
  test: { workspace: { burst: 10, everySeconds: 60 }, recipient: { burst: 10, everySeconds: 300 } },
  confirmation: { workspace: { burst: 20, everySeconds: 600 }, recipient: { burst: 3, everySeconds: 6 * 3_600 } },
} as const satisfies Record<string, Readonly<Record<'workspace' | 'recipient', Pace>>>;

interface Requested {
  readonly kind: keyof typeof paces;
  readonly workspaceId: string;
  readonly recipients: readonly string[];
}

/**
 * Counts requested emails per recipient and per workspace. A test counts once for the workspace; a confirmation counts
 * once per recipient. Throws `rate_limit_exceeded` if a limit is exceeded; the transaction must then be rolled back.
 */
export async function takeEmails(tx: Queryable, { kind, workspaceId, recipients }: Requested): Promise<void> {
  const { workspace, recipient } = paces[kind];
  const requests = kind === 'test' ? 1 : recipients.length;
  for (let i = 0; i < requests; i += 1) await take(tx, `${kind}/workspace/${workspaceId}`, workspace);
  // In a fixed order, so that concurrent transactions do not deadlock.
  for (const address of recipients.map((one) => one.toLowerCase()).sort()) {
    await take(tx, `${kind}/recipient/${address}`, recipient);
  }
}

async function take(tx: Queryable, subject: string, pace: Pace): Promise<void> {
  const retryAfterSeconds = await throttles.take(tx, createHash('sha256').update(subject).digest(), pace);
  if (retryAfterSeconds === 0) return;
  throw new RmsError('rate_limit_exceeded', {
    message: 'Too many emails were requested. Try again later.',
    retryAfterSeconds,
  });
}
