import { createHash } from 'node:crypto';
import { RmsError, tryAgainIn } from '@rms/base/errors';
import { type Pace, type Queryable, throttleTable } from '@rms/postgres/db';

export const throttles = throttleTable('alerts.throttles');

/**
 * Limits on emails that users request or cause. The limits per recipient apply across all workspaces. Recipients of
 * alerts are members of the workspace or have confirmed, so only the workspace is limited: its emails share a queue with
 * other workspaces' emails.
 */
const paces = {
  alert: { workspace: { burst: 500, everySeconds: 10 }, recipient: undefined },
  test: { workspace: { burst: 10, everySeconds: 60 }, recipient: { burst: 10, everySeconds: 300 } },
  confirmation: { workspace: { burst: 20, everySeconds: 600 }, recipient: { burst: 3, everySeconds: 6 * 3_600 } },
} as const satisfies Record<string, { readonly workspace: Pace; readonly recipient: Pace | undefined }>;

interface Requested {
  readonly kind: keyof typeof paces;
  readonly workspaceId: string;
  readonly recipients: readonly string[];
}

/**
 * Counts emails per recipient and per workspace. A test counts once for the workspace; alerts and confirmations count
 * once per recipient, up to a whole burst. Throws `rate_limit_exceeded` if a limit is exceeded; the transaction must then be rolled back.
 */
export async function takeEmails(tx: Queryable, { kind, workspaceId, recipients }: Requested): Promise<void> {
  const { workspace, recipient } = paces[kind];
  const requests = kind === 'test' ? 1 : Math.min(recipients.length, workspace.burst);
  const ofWorkspace = {
    subject: `${kind}/workspace/${workspaceId}`,
    exceeded: 'Too many emails were requested in this workspace.',
  };
  for (let i = 0; i < requests; i += 1) await take(tx, ofWorkspace, workspace);
  if (!recipient) return;
  // In a fixed order, so that concurrent transactions do not deadlock.
  for (const address of recipients.map((one) => one.toLowerCase()).sort()) {
    const ofRecipient = {
      subject: `${kind}/recipient/${address}`,
      exceeded: `Too many emails to ${address} were requested.`,
    };
    await take(tx, ofRecipient, recipient);
  }
}

/** A subject with a limit. `exceeded` is the error message's beginning. */
interface Limited {
  readonly subject: string;
  readonly exceeded: string;
}

async function take(tx: Queryable, { subject, exceeded }: Limited, pace: Pace): Promise<void> {
  const retryAfterSeconds = await throttles.take(tx, createHash('sha256').update(subject).digest(), pace);
  if (retryAfterSeconds === 0) return;
  throw new RmsError('rate_limit_exceeded', {
    message: `${exceeded} ${tryAgainIn(retryAfterSeconds)}`,
    retryAfterSeconds,
  });
}
