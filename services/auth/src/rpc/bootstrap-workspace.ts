import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import { makeKey } from '../key/key.ts';
import { keyCreated } from '../key/key-audit.ts';
import { queueKeyEvents } from '../key/key-event.ts';
import { toKeyMessage } from '../key/key-message.ts';
import { insertKey } from '../key/key-queries.ts';
import { makeWorkspace } from '../workspace/workspace.ts';
import { workspaceCreated } from '../workspace/workspace-audit.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { insertWorkspace, listWorkspaces } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Creates the first workspace. A table lock serializes concurrent first starts, so only one workspace is created. */
export function bootstrapWorkspace({ pool }: HandlerParts): Handlers<typeof WorkspacesService>['bootstrapWorkspace'] {
  return ({ name }, context) =>
    inTransaction(pool, async (tx) => {
      await lockBootstrap(tx);
      const [first] = await listWorkspaces(tx, { after: '', limit: 1 });
      if (first) return { created: false, workspace: toWorkspaceMessage(first) };
      const workspace = makeWorkspace(name);
      await insertWorkspace(tx, workspace);
      const created = (['live', 'sandbox'] as const).map((environment) =>
        makeKey({
          workspaceId: workspace.id,
          environment,
          name: 'first key',
          scope: 'admin',
          permissions: [],
          allowedIps: [],
          expiresAt: undefined,
          rateLimitRequests: undefined,
          createdBy: actorOf(context),
        }),
      );
      for (const { key } of created) await insertKey(tx, key);
      await appendAudit(tx, context, [workspaceCreated(workspace), ...created.map(({ key }) => keyCreated(key))]);
      await queueKeyEvents(
        tx,
        'api_key.created',
        created.map(({ key }) => key),
        context,
      );
      return {
        created: true,
        workspace: toWorkspaceMessage(workspace),
        keys: created.map(({ key }) => toKeyMessage(key)),
        keyValues: created.map(({ value }) => value),
      };
    });
}

/** Locks the table, so that one transaction at a time can create the first workspace. */
async function lockBootstrap(tx: Queryable): Promise<void> {
  await tx.query('lock table auth.workspaces in share row exclusive mode');
}
