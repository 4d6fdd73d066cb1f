import { newId } from '@rms/base/ids';
import type { Tenant } from '@rms/base/tenant';
import { inTransaction, type Pool, type Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { deleteSurplus, readCurrent, type StoredIncident, writeIncidents } from '../incident/incident-queries.ts';
import type { AlertsMetrics } from '../metrics.ts';
import { insertNotifications } from '../notify/notification-queries.ts';
import type { Pages } from '../notify/pages.ts';
import { type AlertKind, type Rule, withDefaults } from '../rule/rule.ts';
import { readRules } from '../rule/rule-queries.ts';
import { queueConditionEvents } from './condition-events.ts';
import { decide } from './decide.ts';
import { evaluationsDue, setDue, takeDue } from './evaluation-queries.ts';
import { readFacts, type Windows } from './fact-queries.ts';
import type { Facts } from './observe.ts';

export interface EvaluatorParts {
  readonly pool: Pool;
  /** The queue {@link dueTenants}. */
  readonly queue: Queue;
  readonly log: Logger;
  readonly now: () => number;
  /** Interval between evaluations of an active tenant. */
  readonly everyMs: number;
  /** See `AlertsConfig`. */
  readonly gatherMs: number;
  /** Called when there are notifications to send. */
  readonly onNotices: () => void;
  readonly pages: Pages;
  readonly metrics: Pick<AlertsMetrics, 'notices'>;
}

const pollMs = 1_000;
/** Interval between evaluations of an inactive tenant with an open incident. */
const quietEveryMs = 60_000;
const failedEveryMs = 60_000;

/** Returns the query for tenants that are due soon, for createDatabaseWatch. @param everyMs as for the evaluator */
export function dueTenants(everyMs: number): string {
  return evaluationsDue(longestWaitMs(everyMs));
}

function longestWaitMs(everyMs: number): number {
  return Math.max(everyMs, quietEveryMs, failedEveryMs);
}

/**
 * Creates the worker that evaluates the rules of due tenants. One transaction locks the tenant, reads the facts, and
 * writes incidents and notifications. If the process dies before the commit, nothing has changed.
 */
export function createEvaluator(parts: EvaluatorParts): Worker {
  const { pool, queue, log, now, everyMs, gatherMs, onNotices, pages, metrics } = parts;
  /**
   * Evaluates one due tenant. Returns false if none is due. A failing tenant is postponed so that it does not block the
   * others.
   */
  const evaluateOne = async () => {
    const taken: { tenant?: Tenant } = {};
    try {
      return await evaluateNext(taken);
    } catch (err) {
      if (!taken.tenant) throw err;
      log.error({ err, workspace_id: taken.tenant.workspaceId }, 'rule evaluation failed');
      await setDue(pool, taken.tenant, failedEveryMs);
      return true;
    }
  };

  const evaluateNext = async (taken: { tenant?: Tenant }) => {
    const done = await inTransaction(pool, async (tx) => {
      const tenant = await takeDue(tx, longestWaitMs(everyMs));
      if (!tenant) return undefined;
      taken.tenant = tenant;
      const rules = withDefaults(tenant, await readRules(tx, tenant));
      const nowMs = now();
      const facts = await readFacts(tx, tenant, windowsOf(rules), new Date(nowMs));
      const current = await readCurrent(tx, tenant);
      const decision = decide(rules, facts, current, { nowMs, newId: () => newId('inc') });
      await writeIncidents(tx, decision.incidents);
      if (decision.incidents.length > 0) await deleteSurplus(tx, tenant);
      await insertNotifications(tx, decision.notices, gatherMs);
      await queueConditionEvents(tx, { tenant, rules, facts, nowMs });
      await pages.queueEnds(tx, endedSilently(decision.incidents));
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
        await queue.sleep(Math.min(pollMs, everyMs), signal);
      }
    },
  };
}

/** Returns the incidents that ended without a notice. */
function endedSilently(incidents: readonly StoredIncident[]): StoredIncident[] {
  return incidents.filter(({ state }) => state === 'ended');
}

function windowsOf(rules: readonly Rule[]): Windows {
  const windowOf = (kind: AlertKind) => rules.find((rule) => rule.kind === kind)?.windowSeconds ?? 0;
  return {
    apiErrorRate: windowOf('api_error_rate'),
    rateLimited: windowOf('rate_limited'),
    deliveryFailureRate: windowOf('delivery_failure_rate'),
  };
}

/** Returns whether rates can change without new requests, because earlier requests leave the window. */
function isBusy({ requests, webhooks }: Facts): boolean {
  return Object.values(requests).some((one) => one.requests > 0) || webhooks.some(({ attempts }) => attempts > 0);
}
