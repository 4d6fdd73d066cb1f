interface Allowed {
  readonly source: string;
  /** Part of the statement, on one line. */
  readonly text: string;
  readonly reason: string;
}

const reencryption = 'rms secrets rotate reads every encrypted value once, in batches; an operator runs it';
const sampled = 'a sample, whose percentage the caller bounds; the recorded one is of a small table';

/** Statements that may violate the limits of plan.ts. */
export const allowed: readonly Allowed[] = [
  { source: 'services/resources/src/outbox/relay-queries.ts', text: 'tablesample system', reason: sampled },
  {
    source: 'services/resources/src/outbox/relay-queries.ts',
    text: 'from outbox.events where id > $1 order by id limit $2',
    reason: 'moves the rows of partitions that no longer exist, at the start after EVENT_PARTITIONS was reduced',
  },
  { source: 'services/webhooks/src/engine/lease/backlog-queries.ts', text: 'tablesample system', reason: sampled },
  {
    source: 'services/webhooks/src/engine/lease/backlog-queries.ts',
    text: 'with recursive tenants',
    reason: '50 rows per tenant with a backlog, for a gauge, within 5 s',
  },
  {
    source: 'services/webhooks/src/rpc/count-unfinished-deliveries.ts',
    text: 'limit 10000',
    reason: 'ends after 10,000 rows',
  },
  {
    source: 'services/webhooks/src/rpc/count-deliveries.ts',
    text: 'as materialized (',
    reason: 'an operator counts deliveries; ends after 1,000,000 rows of each table',
  },
  { source: 'packages/postgres/src/reencryption/reencryption.ts', text: 'sealed', reason: reencryption },
  {
    source: 'packages/postgres/src/workspace-deletion/deletion-queries.ts',
    text: 'delete from alerts.request_counts',
    reason: 'an operator deletes a workspace; a tenant has at most 2,880 counts of minutes, and fewer of other periods',
  },
  {
    source: 'packages/postgres/src/workspace-deletion/deletion-queries.ts',
    text: 'delete from alerts.request_groups',
    reason:
      'an operator deletes a workspace; per dimension, a tenant has a row for each group and interval with requests',
  },
  {
    source: 'services/auth/src/key/marker-queries.ts',
    text: 'from auth.pending_markers where workspace_id = $1',
    reason: 'an operator deletes a workspace; a pending marker exists for milliseconds while Redis responds',
  },
  {
    source: 'packages/postgres/src/workspace-deletion/deletion-queries.ts',
    text: 'delete from resources.metadata_pairs',
    reason: 'an operator deletes a workspace; the deletion of its resources before has removed their pairs',
  },
  {
    source: 'services/auth/src/service.ts',
    text: 'from pg_partitioned_table as p',
    reason: 'reads the catalog once, at the start; PostgreSQL prefers a scan of a catalog with few tables',
  },
  {
    source: 'services/auth/src/rpc/delete-plan.ts',
    text: 'from auth.workspaces where plan = $1',
    reason: 'an operator deletes a plan',
  },
  {
    source: 'services/auth/src/member/member-queries.ts',
    text: 'join auth.users on',
    reason:
      'reads the members of a workspace; for a thousand of them, a hash join with a small table costs less than lookups',
  },
];
