import { randomUUID } from 'node:crypto';
import type { DescService } from '@bufbuild/protobuf';
import type { Queryable } from '@rms/postgres/db';
import { testGlobals } from './test-globals.ts';

/** The values of every changed field, before and after. */
type Changed = Readonly<Record<string, readonly [before: unknown, after: unknown]>>;

/** An entry of the audit log: action, name of the target, name of the actor, changes. */
export type Audited = readonly [action: string, targetName: string, actorName: string, changes: Changed];

/** Makes a call with the given request ID, and returns the entries that it must append. */
export type AuditedCase = (requestId: string) => Promise<readonly Audited[]>;

/** Cases by "Service/method"; undefined for a method that appends no entry. */
export type AuditedCases = Readonly<Record<string, AuditedCase | undefined>>;

/** Returns the names of all methods of services as in {@link AuditedCases}, sorted. */
function auditedMethods(services: readonly DescService[]): string[] {
  return services.flatMap(({ name, methods }) => methods.map(({ localName }) => `${name}/${localName}`)).sort();
}

/** Returns a request's entries, in order. */
export async function readAudited(db: Queryable, requestId: string): Promise<Audited[]> {
  const { rows } = await db.query<{
    action: string;
    target_name: string;
    actor_name: string;
    changes: { field: string; before: unknown; after: unknown }[];
  }>('select action, target_name, actor_name, changes from audit.entries where request_id = $1 order by id', [
    requestId,
  ]);
  return rows.map(({ action, target_name: target, actor_name: actor, changes }) => [
    action,
    target,
    actor,
    Object.fromEntries(
      changes.map(({ field, before, after }): [string, [unknown, unknown]] => [field, [before, after]]),
    ),
  ]);
}

/** Returns the elements of `secrets` that an entry of the audit log contains. */
export async function auditedSecrets(db: Queryable, secrets: Iterable<string>): Promise<string[]> {
  const { rows } = await db.query<{ text: string }>('select entries::text as text from audit.entries');
  const dump = rows.map(({ text }) => text).join('\n');
  return [...secrets].filter((secret) => secret !== '' && dump.includes(secret));
}

/**
 * Returns a field's values in the order of its changes. Throws if the changes are not a chain:
 * each must begin with the value at the end of the previous one. No two changes may end with the same value.
 */
export async function auditedChain(
  db: Queryable,
  targetId: string,
  field: string,
  workspaceId?: string,
): Promise<(string | null)[]> {
  const { rows } = await db.query<{ before: string | null; after: string | null }>(
    `select change->>'before' as before, change->>'after' as after
       from audit.entries cross join jsonb_array_elements(changes) as change
      where target_id = $1 and change->>'field' = $2 and workspace_id = coalesce($3, workspace_id)`,
    [targetId, field, workspaceId],
  );
  const ends = new Set(rows.map(({ after }) => after));
  const [first, ...others] = rows.filter(({ before }) => !ends.has(before));
  const links = new Map(rows.map(({ before, after }) => [before, after]));
  const chain: (string | null)[] = first ? [first.before] : [];
  while (first && chain.length <= rows.length) chain.push(links.get(chain.at(-1) ?? null) ?? null);
  if (others.length > 0 || chain.length !== rows.length + 1 || new Set(chain).size !== chain.length) {
    throw new Error(`the changes of ${field} are not a chain: ${JSON.stringify(rows)}`);
  }
  return chain;
}

/** Declares the tests that every method of the services has a case, and that each case leaves the expected entries. */
export function testAuditedCases(services: readonly DescService[], cases: AuditedCases, db: () => Queryable): void {
  const { test, expect } = testGlobals();
  test('are tested for every method', () => {
    expect(Object.keys(cases).sort()).toEqual(auditedMethods(services));
  });
  for (const [method, run] of Object.entries(cases)) {
    if (!run) continue;
    test(`of ${method} say what changed, with the names of the target and the actor`, async () => {
      const requestId = `req_${randomUUID()}`;
      const expected = await run(requestId);
      expect(await readAudited(db(), requestId)).toEqual(expected);
    });
  }
}
