import { newId } from '@rms/base/ids';
import type { Keys, SecretBox } from '@rms/base/secrets';
import type { DatabaseTime, Queryable } from '@rms/postgres/db';
import { emailLifeMs } from '../email/email.ts';
import { queueEmails } from '../email/email-queries.ts';
import { emailContext } from '../sealed/contexts.ts';
import { confirmationEmail } from './confirmation-email.ts';
import { makeConfirmationToken } from './confirmation-token.ts';
import { takeEmails } from './email-limits.ts';
import { readConfirmed, recordConfirmationRequest } from './recipient-queries.ts';
import type { Workspaces } from './workspaces.ts';

/**
 * Recipients of alert rules. Members of the workspace receive alerts without confirmation, other addresses only after
 * they have confirmed.
 */
export interface Recipients {
  /**
   * Returns the addresses that are neither members nor confirmed, in lower case. Rejects if auth is unavailable.
   * @param tx the caller's transaction, so that it uses no second connection
   */
  unconfirmedOf(workspaceId: string, addresses: readonly string[], tx?: Queryable): Promise<Set<string>>;
  /**
   * Queues a confirmation email to each address that has not been asked within a day. Returns the number of queued
   * emails. Throws `rate_limit_exceeded`.
   */
  ask(tx: Queryable, workspace: Workspace, addresses: readonly string[]): Promise<number>;
}

interface Workspace {
  readonly id: string;
  readonly name: string;
}

interface Parts {
  readonly pool: Queryable;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly workspaces: Workspaces;
  readonly box: SecretBox;
  readonly tokenKeys: Keys;
  /** Base URL of links, without a trailing slash. */
  readonly dashboardUrl: string;
}

const askIntervalSeconds = 24 * 3_600;

export function createRecipients({ pool, time, workspaces, box, tokenKeys, dashboardUrl }: Parts): Recipients {
  return {
    async unconfirmedOf(workspaceId, addresses, tx = pool) {
      const given = [...new Set(addresses.map((address) => address.toLowerCase()))];
      if (given.length === 0) return new Set();
      const confirmed = await readConfirmed(tx, workspaceId, given);
      const open = given.filter((address) => !confirmed.has(address));
      if (open.length === 0) return new Set();
      const members = new Set((await workspaces.membersOf(workspaceId)).map(({ email }) => email.toLowerCase()));
      return new Set(open.filter((address) => !members.has(address)));
    },
    async ask(tx, { id: workspaceId, name }, addresses) {
      const requested: string[] = [];
      for (const address of addresses) {
        if (await recordConfirmationRequest(tx, workspaceId, address, askIntervalSeconds)) requested.push(address);
      }
      await takeEmails(tx, { kind: 'confirmation', workspaceId, recipients: requested });
      const nowMs = time.nowMs();
      const emails = requested.map((recipient) => {
        const id = newId('ntf');
        const token = makeConfirmationToken(tokenKeys, { workspaceId, address: recipient }, nowMs);
        const content = confirmationEmail(name, `${dashboardUrl}/alert-recipient#${token}`);
        const sealed = box.seal(JSON.stringify(content), emailContext({ workspaceId, environment: '', id }));
        return {
          workspaceId,
          environment: '',
          id,
          recipient,
          sealed,
          expiresAt: new Date(nowMs + emailLifeMs),
        } as const;
      });
      await queueEmails(tx, emails);
      return emails.length;
    },
  };
}
