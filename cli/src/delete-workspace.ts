import { note } from './print.ts';
import type { Services } from './services.ts';

/** Clients for deleting a workspace. */
export type DeletionServices = Pick<
  Services,
  'authDeletion' | 'resourcesDeletion' | 'webhooksDeletion' | 'alertsDeletion'
>;

/** Returns the numbers of objects in a workspace by kind, without zeros. */
export async function contentsOf(services: DeletionServices, workspaceId: string): Promise<[kind: string, bigint][]> {
  const { authDeletion, resourcesDeletion, webhooksDeletion } = services;
  const responses = await Promise.all(
    [authDeletion, resourcesDeletion, webhooksDeletion].map((client) => client.countContents({ workspaceId })),
  );
  return responses.flatMap(({ counts }) => Object.entries(counts)).filter(([, count]) => count > 0n);
}

/** Formats contents: "2 keys, 1 member". */
export function contentsText(contents: readonly (readonly [kind: string, bigint])[]): string {
  return contents.map(([kind, count]) => `${count} ${count === 1n ? kind.replace(/s$/, '') : kind}`).join(', ');
}

/**
 * Deletes a workspace. Returns the numbers of deleted rows by table, including the rows that earlier, interrupted runs
 * have deleted. The order matters: auth stops all access first. It deletes the workspace last, so that an interrupted
 * deletion can be found and continued.
 */
export async function deleteWorkspace(
  services: DeletionServices,
  workspaceId: string,
  { onlyIfEmpty, showProgress }: { readonly onlyIfEmpty: boolean; readonly showProgress: boolean },
): Promise<Record<string, bigint>> {
  await services.authDeletion.beginDeletion({ workspaceId, onlyIfEmpty });
  try {
    return await deleteContents(services, workspaceId, showProgress);
  } catch (error) {
    note('The deletion has not ended. Run the command again to continue it.');
    throw error;
  }
}

async function deleteContents(
  { authDeletion, resourcesDeletion, webhooksDeletion, alertsDeletion }: DeletionServices,
  workspaceId: string,
  showProgress: boolean,
): Promise<Record<string, bigint>> {
  const deleted: Record<string, bigint> = {};
  // Resources before their events and deliveries, both before their usage counts.
  const steps = {
    resources: resourcesDeletion,
    webhooks: webhooksDeletion,
    alerts: alertsDeletion,
    auth: authDeletion,
  };
  for (const [name, client] of Object.entries(steps)) {
    let pageToken = '';
    do {
      const response = await client?.deleteContents({ workspaceId, pageToken });
      Object.assign(deleted, response?.deleted);
      pageToken = response?.nextPageToken ?? '';
      if (pageToken !== '' && showProgress) note(`${name}: ${sum(response?.deleted ?? {})} rows deleted so far`);
    } while (pageToken !== '');
  }
  await authDeletion.completeDeletion({ workspaceId, deleted });
  return deleted;
}

/** Returns the numbers' sum. */
export function sum(numbers: Readonly<Record<string, bigint>>): bigint {
  return Object.values(numbers).reduce((total, number) => total + number, 0n);
}
