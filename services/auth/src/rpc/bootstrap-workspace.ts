import { actorOf, appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeKey } from '../key/key.ts';
import { keyCreated } from '../key/key-audit.ts';
import { toKeyMessage } from '../key/key-message.ts';
import { insertKey } from '../key/key-queries.ts';
import { makeWorkspace } from '../workspace/workspace.ts';
import { workspaceCreated } from '../workspace/workspace-audit.ts';
import { toWorkspaceMessage } from '../workspace/workspace-message.ts';
import { insertWorkspace, listAllWorkspaces, lockBootstrap } from '../workspace/workspace-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

/** Several first starts at once make one workspace: the table is locked while one of them looks and makes. */
export function bootstrapWorkspace({ pool }: HandlerParts): Handlers<typeof WorkspacesService>['bootstrapWorkspace'] {
  return ({ name }, context) =>
    translated(() =>
      inTransaction(pool, async (tx) => {
        await lockBootstrap(tx);
        const [first] = await listAllWorkspaces(tx);
        if (first) return { created: false, workspace: toWorkspaceMessage(first) };
        const workspace = makeWorkspace(name);
        await insertWorkspace(tx, workspace);
        const made = (['live', 'sandbox'] as const).map((environment) =>
          makeKey({
            workspaceId: workspace.id,
            environment,
            name: 'first key',
            scope: 'admin',
            allowedIps: [],
            expiresAt: undefined,
            rateLimitRequests: undefined,
            createdBy: actorOf(context),
          }),
        );
        for (const { key } of made) await insertKey(tx, key);
        await appendAudit(tx, context, [workspaceCreated(workspace), ...made.map(({ key }) => keyCreated(key))]);
        return {
          created: true,
          workspace: toWorkspaceMessage(workspace),
          keys: made.map(({ key }) => toKeyMessage(key)),
          keyValues: made.map(({ value }) => value),
        };
      }),
    );
}
