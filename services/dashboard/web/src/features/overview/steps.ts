import type { Key } from '@rms/api';

/** A workspace with this many resources needs no instructions. */
const experiencedResources = 10;

/** Numbers of objects in the environment. */
export interface Progress {
  readonly resources: number;
  readonly webhooks: number;
}

/** Returns whether to show the first steps: some step is not done, and there are few resources. */
export function needsSteps({ resources, webhooks }: Progress): boolean {
  return resources < experiencedResources && (resources === 0 || webhooks === 0);
}

/** Returns the most recent valid key that can create resources, for the first request. */
export function keyForSteps(keys: readonly Key[]): Key | undefined {
  return keys.find(({ status, scope }) => status === 'active' && scope !== 'read');
}

/** Returns where a key's value was shown, as a clause. */
export function shownText({ created_by: by }: Pick<Key, 'created_by'>): string {
  return by?.startsWith('operator:')
    ? 'printed once by the command that created it'
    : 'shown once, when it was created';
}

/**
 * Returns a command that creates a resource.
 * @param key without a key, the command needs the variable KEY
 */
export function firstRequest(apiUrl: string, key: Pick<Key, 'hint'> | undefined): string {
  const value = key ? [`KEY='${key.hint}'  # the value of this key`] : [];
  return [
    ...value,
    `curl -s ${apiUrl}/v1/resources -X POST \\`,
    '  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
    `  -d '{"name": "My first resource"}'`,
  ].join('\n');
}
