/** Result of re-encrypting a service's secrets. */
export interface Reencrypted {
  readonly service: string;
  readonly resealed: number;
  readonly already_current: number;
  /** Secrets that no configured key can decrypt. */
  readonly unreadable: number;
  /** Up to 10 webhooks with unreadable secrets. */
  readonly unreadable_webhooks: { readonly workspace_id: string; readonly id: string }[];
  /** Up to 10 users with unreadable second factors. */
  readonly unreadable_users: string[];
  /** Secrets that are still encrypted with a key other than the current one. */
  readonly remaining: number;
  /** IDs of those keys; each ciphertext starts with the ID of its key. */
  readonly remaining_keys: string[];
  /** Whether the service has previous keys. */
  readonly has_previous_keys: boolean;
}

/** Response to ReencryptSecrets, which every service with encrypted data implements. */
interface Batch {
  readonly resealed: number;
  readonly unreadable: number;
  readonly unreadableWebhooks?: readonly { readonly workspaceId: string; readonly id: string }[];
  readonly unreadableUserIds?: readonly string[];
  readonly nextPageToken: string;
  readonly hasPreviousKeys: boolean;
  readonly sealed: readonly { readonly keyId: string; readonly current: boolean; readonly count: bigint }[];
}

const shown = 10;

/** Re-encrypts all secrets of a service, batch by batch. */
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
      // Secrets that are re-encrypted or deleted concurrently must not make this negative.
      already_current: Math.max(0, countOf(batch.sealed.filter(({ current }) => current)) - resealed),
      unreadable,
      unreadable_webhooks: webhooks,
      unreadable_users: users,
      remaining: countOf(others),
      remaining_keys: others.map(({ keyId }) => keyId),
      has_previous_keys: batch.hasPreviousKeys,
    };
  }
}

/**
 * Returns the remaining steps for the operator.
 * @param previousKeys where the previous keys are configured: a setting or a file
 */
export function nextStep(data: readonly Reencrypted[], previousKeys: string): string {
  const sum = (name: 'remaining' | 'unreadable') => data.reduce((total, one) => total + one[name], 0);
  if (sum('remaining') === 0) {
    const all = 'All secrets use the current key.';
    return data.some((one) => one.has_previous_keys) ? `${all} Remove ${previousKeys} now, and restart.` : all;
  }
  if (sum('unreadable') === 0) {
    return `${sum('remaining')} secrets were encrypted with a previous key in the meantime. Restart instances that still use it, then run this again.`;
  }
  const keys = data.flatMap(({ remaining_keys }) => remaining_keys).join(', ');
  const webhooks = data.flatMap(({ unreadable_webhooks }) => unreadable_webhooks);
  const users = data.flatMap(({ unreadable_users }) => unreadable_users);
  const lost = [
    ...(webhooks.length > 0 ? ['rotate the webhook secrets'] : []),
    ...(users.length > 0 ? ['reset the second factors'] : []),
  ];
  const rest = 'Stored idempotent responses expire within 24 hours, queued emails within a week.';
  return [
    `${sum('unreadable')} secrets cannot be decrypted: no configured key matches. They were encrypted with ${keys}.`,
    `Add that key to ${previousKeys}, restart, and run this again.`,
    lost.length > 0 ? `If the key is lost, ${lost.join(' and ')}. ${rest}` : rest,
    ...webhooks.map(({ workspace_id, id }) => `  rms webhooks rotate-secret ${id} --workspace ${workspace_id}`),
    ...users.map((id) => `  rms users reset ${id} --second-factor`),
  ].join('\n');
}
