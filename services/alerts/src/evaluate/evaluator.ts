import { inTransaction, type Pool } from '@rms/db';
import { newId } from '@rms/ids';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import { readCurrent, writeIncidents } from '../incident/incident-queries.ts';
import type { AlertsMetrics } from '../metrics.ts';
import { insertNotifications } from '../notify/notification-queries.ts';
import { type AlertKind, type Rule, withDefaults } from '../rule/rule.ts';
import { readRules } from '../rule/rule-queries.ts';
import type { Tenant } from '../tenant.ts';
import { decide } from './decide.ts';
import { readFacts, type Windows } from './fact-queries.ts';
import type { Facts } from './observe.ts';
import { setDue, takeDue } from './watch-queries.ts';

export interface EvaluatorParts {
  readonly pool: Pool;
  readonly log: Logger;
  readonly now: () => number;
  /** Between two looks at a tenant that is busy. */
  readonly everyMs: number;
  /** Told when there is something to send. */
  readonly onNotices: () => void;
  readonly metrics: Pick<AlertsMetrics, 'notices'>;
}

const pollMs = 1_000;
/** Between two looks at a tenant that only has an open incident. */
const quietEveryMs = 60_000;
const failedEveryMs = 60_000;

/**
 * Looks at the rules of each tenant that is due: reads, decides, writes incidents and what is to be told of them in one
 * transaction, which holds the tenant against other instances. Who dies in between has done nothing.
 */
export function createEvaluator({ pool, log, now, everyMs, onNotices, metrics }: EvaluatorParts): Worker {
  /** Answers whether a tenant was due. One that cannot be looked at must not hold up the others. */
  const evaluateOne = async () => {
    const taken: { tenant?: Tenant } = {};
    try {
      return await lookAtOne(taken);
    } catch (err) {
      if (!taken.tenant) throw err;
      log.error({ err, workspace_id: taken.tenant.workspaceId }, 'the rules of a workspace could not be looked at');
      await setDue(pool, taken.tenant, failedEveryMs);
      return true;
    }
  };

  const lookAtOne = async (taken: { tenant?: Tenant }) => {
    const done = await inTransaction(pool, async (tx) => {
      const tenant = await takeDue(tx);
      if (!tenant) return undefined;
      taken.tenant = tenant;
      const rules = withDefaults(tenant, await readRules(tx, tenant));
      const nowMs = now();
      const facts = await readFacts(tx, tenant, windowsOf(rules), new Date(nowMs));
      const current = await readCurrent(tx, tenant);
      const decision = decide(rules, facts, current, { nowMs, newId: () => newId('inc') });
      await writeIncidents(tx, decision.incidents);
      await insertNotifications(tx, decision.notices);
      const quiet = decision.open ? Math.max(everyMs, quietEveryMs) : undefined;
      await setDue(tx, tenant, isBusy(facts) ? everyMs : quiet);
      return decision;
    });
    for (const { incident, notice } of done?.notices ?? []) {
      const { id, kind, subjectId, workspaceId, environment } = incident;
      metrics.notices.inc({ kind, notice });
      log.info(
        { incident_id: id, kind, subject_id: subjectId, workspace_id: workspaceId, environment, notice },
        'incident',
      );
    }
    if (done && done.notices.length > 0) onNotices();
    return done !== undefined;
  };

  return {
    name: 'evaluator',
    async run(signal) {
      while (!signal.aborted) {
        while (!signal.aborted && (await evaluateOne()));
        await abortableDelay(Math.min(pollMs, everyMs), signal);
      }
    },
  };
}

function windowsOf(rules: readonly Rule[]): Windows {
  const windowOf = (kind: AlertKind) => rules.find((rule) => rule.kind === kind)?.windowSeconds ?? 0;
  return {
    apiErrorRate: windowOf('api_error_rate'),
    rateLimited: windowOf('rate_limited'),
    deliveryFailureRate: windowOf('delivery_failure_rate'),
  };
}

/** Whether the shares of a window may still change by themselves, as it moves on. */
function isBusy({ requests, webhooks }: Facts): boolean {
  return Object.values(requests).some((one) => one.requests > 0) || webhooks.some(({ attempts }) => attempts > 0);
}
