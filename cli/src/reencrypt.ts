/** What came of sealing a service's secrets anew. */
export interface Reencrypted {
  readonly service: string;
  readonly resealed: number;
  readonly already_current: number;
  /** What no configured key opens. */
  readonly unreadable: number;
  /** The first of the webhooks among those. */
  readonly unreadable_webhooks: { readonly workspace_id: string; readonly id: string }[];
  /** The first of the users whose second factors are among those. */
  readonly unreadable_users: string[];
  /** What other keys than the current one have sealed, now. */
  readonly left: number;
  /** These keys, by the names that stand in front of what they sealed. */
  readonly left_keys: string[];
}

/** What every service that seals anything answers to ReencryptSecrets. */
interface Batch {
  readonly resealed: number;
  readonly unreadable: number;
  readonly unreadableWebhooks?: readonly { readonly workspaceId: string; readonly id: string }[];
  readonly unreadableUserIds?: readonly string[];
  readonly nextPageToken: string;
  readonly sealed: readonly { readonly keyId: string; readonly current: boolean; readonly count: bigint }[];
}

const shown = 10;

/** Walks through all that a service has sealed, batch after batch. */
export async function reencrypt(
  service: string,
  client: { reencryptSecrets(request: { pageToken: string }): Promise<Batch> },
): Promise<Reencrypted> {
  let resealed = 0;
  let unreadable = 0;
  const webhooks: { workspace_id: string; id: string }[] = [];
  const users: string[] = [];
  let pageToken = '';
  for (;;) {
    const batch = await client.reencryptSecrets({ pageToken });
    resealed += batch.resealed;
    unreadable += batch.unreadable;
    const more = (batch.unreadableWebhooks ?? []).slice(0, shown - webhooks.length);
    webhooks.push(...more.map(({ workspaceId, id }) => ({ workspace_id: workspaceId, id })));
    users.push(...(batch.unreadableUserIds ?? []).slice(0, shown - users.length));
    pageToken = batch.nextPageToken;
    if (pageToken !== '') continue;
    const others = batch.sealed.filter(({ current }) => !current);
    const countOf = (sealed: readonly { count: bigint }[]) => sealed.reduce((sum, { count }) => sum + Number(count), 0);
    return {
      service,
      resealed,
      // What was sealed anew or deleted meanwhile must not make it negative.
      already_current: Math.max(0, countOf(batch.sealed.filter(({ current }) => current)) - resealed),
      unreadable,
      unreadable_webhooks: webhooks,
      unreadable_users: users,
      left: countOf(others),
      left_keys: others.map(({ keyId }) => keyId),
    };
  }
}

/** What a person has to do now. */
export function nextStep(data: readonly Reencrypted[]): string {
  const sum = (name: 'left' | 'unreadable') => data.reduce((total, one) => total + one[name], 0);
  if (sum('left') === 0) {
    return 'Nothing needs an earlier key any more: remove ENCRYPTION_KEY_PREVIOUS (npm start: encryption.key.previous) now.';
  }
  if (sum('unreadable') === 0) {
    return `${sum('left')} were sealed with an earlier key meanwhile: does an instance still run with that key? Run it again.`;
  }
  const keys = data.flatMap(({ left_keys }) => left_keys).join(', ');
  const webhooks = data.flatMap(({ unreadable_webhooks }) => unreadable_webhooks);
  const users = data.flatMap(({ unreadable_users }) => unreadable_users);
  return [
    `${sum('unreadable')} cannot be read: no configured key opens them. They were sealed with ${keys}.`,
    'Put that key into ENCRYPTION_KEY_PREVIOUS, start again, and run this again. If it is lost, give the webhooks new',
    'secrets, and take the second factors from the users; answers kept for an Idempotency-Key end within 24 hours by',
    'themselves, mails that wait within a week.',
    ...webhooks.map(({ workspace_id, id }) => `  rms webhooks rotate-secret ${id} --workspace ${workspace_id}`),
    ...users.map((id) => `  rms users reset ${id} --second-factor`),
  ].join('\n');
}
