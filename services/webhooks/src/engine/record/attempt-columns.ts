import type { LoggedAttempt } from '../attempt/attempt.ts';

/** An attempt without its headers and its body. */
export type AttemptSummary = Omit<
  LoggedAttempt,
  'request_headers' | 'response_headers' | 'response_body' | 'response_bytes'
>;

/**
 * SQL expressions on deliveries `d` of either table. They read the `attempts` column only if the separate columns are
 * null.
 */
export const attemptCount = `coalesce(d.attempt_count, (d.attempts -> -1 ->> 'number')::integer, 0)`;
export const lastAttempt = 'coalesce(d.last_attempt, webhooks.attempt_summary(d.attempts -> -1))';

/** Columns that keep a delivery's attempts when it moves between the queue and the log. */
export const attemptColumns = 'attempts, attempt_count, last_attempt, redeliveries';

/**
 * The attempts that are read with a delivery, in addition to the last one: none, all stored attempts without headers
 * and bodies, or all stored attempts.
 */
export type AttemptsRead = 'none' | 'summaries' | 'all';

/**
 * SQL expressions for the attempts that are read. webhooks.kept_attempts() also bounds rows that were stored without a
 * bound.
 */
export const attemptsRead: Readonly<Record<AttemptsRead, string>> = {
  none: `'[]'::jsonb`,
  summaries: `coalesce((
              select jsonb_agg(webhooks.attempt_summary(one) order by position)
                from jsonb_array_elements(webhooks.kept_attempts(d.attempts)) with ordinality as each (one, position)
            ), '[]')`,
  all: 'webhooks.kept_attempts(d.attempts)',
};

/** SQL expression for the approximate size of a delivery when read, in bytes. It does not read the attempts. */
export const deliveryBytes: Readonly<Record<AttemptsRead, string>> = {
  none: '512 + coalesce(pg_column_size(d.last_attempt), pg_column_size(d.attempts), 0)',
  summaries: '512 + coalesce(pg_column_size(d.attempts), 0)',
  all: '512 + coalesce(pg_column_size(d.attempts), 0)',
};
