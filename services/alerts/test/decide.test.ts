import { decide } from '../src/evaluate/decide.ts';
import type { Facts } from '../src/evaluate/observe.ts';
import type { StoredIncident } from '../src/incident/incident-queries.ts';
import { type Rule, withDefaults } from '../src/rule/rule.ts';

const tenant = { workspaceId: 'ws_1', environment: 'live' } as const;
const rules = withDefaults(tenant, []);
const none = { requests: 0, errors: 0, rateLimited: 0, refused: 0 };
const quiet: Facts = {
  requests: { api_error_rate: none, rate_limited: none },
  month: { used: 0, quota: 0 },
  webhooks: [],
  disabledWebhooks: [],
  expiringKeys: [],
};
const nowMs = Date.UTC(2026, 5, 15);
const dayMs = 86_400_000;

/** Runs consecutive evaluations and returns the notices of each. */
function evaluate(...all: (Partial<Facts> & { rules?: Rule[]; afterMs?: number })[]) {
  let current: StoredIncident[] = [];
  let atMs = nowMs;
  let ids = 0;
  return all.map(({ rules: given = rules, afterMs = 60_000, ...facts }) => {
    atMs += afterMs;
    const decision = decide(given, { ...quiet, ...facts }, current, {
      nowMs: atMs,
      newId: () => {
        ids += 1;
        return `inc_${ids}`;
      },
    });
    const changed = new Set(decision.incidents.map(({ kind, subjectId }) => `${kind} ${subjectId}`));
    current = [...current.filter(({ kind, subjectId }) => !changed.has(`${kind} ${subjectId}`)), ...decision.incidents];
    return decision.notices.map(({ incident, notice, coveredBy }) =>
      `${notice} ${incident.kind} ${incident.subjectId}${coveredBy ? ` covered by ${coveredBy}` : ''}`.trim(),
    );
  });
}

const requests = (facts: Partial<typeof none>) => ({
  requests: { api_error_rate: { ...none, ...facts }, rate_limited: { ...none, ...facts } },
});

describe('Rule evaluation', () => {
  test('returns no notices without activity', () => {
    expect(evaluate({}, {})).toEqual([[], []]);
  });

  test.each([
    ['too few requests', { requests: 49, errors: 49 }, []],
    ['just enough', { requests: 50, errors: 5 }, ['opened api_error_rate']],
    ['just below the threshold', { requests: 51, errors: 5 }, []],
    [
      'rejected requests do not count',
      { requests: 100, errors: 5, refused: 50, rateLimited: 49 },
      ['opened api_error_rate'],
    ],
    ['all requests rejected', { requests: 100, errors: 0, refused: 100, rateLimited: 49 }, []],
    ['many rejected requests', { requests: 100, errors: 0, refused: 50, rateLimited: 50 }, ['opened rate_limited']],
  ])('requests: %s', (_, facts, notices) => {
    expect(evaluate(requests(facts))).toEqual([notices]);
  });

  test('webhooks: each webhook is a separate subject', () => {
    const webhooks = [
      { webhookId: 'wh_good', url: '', lastError: '', attempts: 100, failedAttempts: 49, failures: 2 },
      { webhookId: 'wh_half', url: '', lastError: '', attempts: 20, failedAttempts: 10, failures: 0 },
      { webhookId: 'wh_few', url: '', lastError: '', attempts: 19, failedAttempts: 19, failures: 19 },
    ];
    expect(evaluate({ webhooks })).toEqual([
      ['opened delivery_failure_rate wh_half', 'opened delivery_failures_in_a_row wh_few'],
    ]);
  });

  test('webhooks: the incident of a webhook without further attempts ends silently', () => {
    const failing = { webhookId: 'wh_1', url: '', lastError: '', attempts: 5, failedAttempts: 5, failures: 5 };
    expect(evaluate({ webhooks: [failing] }, {}, { webhooks: [{ ...failing, failures: 2 }] })).toEqual([
      ['opened delivery_failures_in_a_row wh_1'],
      [],
      [],
    ]);
  });

  test('webhooks: the two failure rules report the same problem only once', () => {
    const facts = (attempts: number, failedAttempts: number, failures: number) => ({
      webhooks: [{ webhookId: 'wh_1', url: '', lastError: '', attempts, failedAttempts, failures }],
    });
    const [rate, inARow] = ['delivery_failure_rate', 'delivery_failures_in_a_row'];
    // The rule about consecutive failures opens first; the rule about the failure rate recovers last.
    expect(
      evaluate(facts(3, 3, 3), facts(20, 20, 20), facts(21, 20, 0), facts(22, 0, 0), {
        ...facts(22, 0, 0),
        afterMs: 360_000,
      }),
    ).toEqual([
      [`opened ${inARow} wh_1`],
      [`opened ${rate} wh_1 covered by ${inARow}`],
      [`recovered ${inARow} wh_1 covered by ${rate}`],
      [],
      [`recovered ${rate} wh_1`],
    ]);
    // Both open in the same evaluation, and both are still open a day later.
    expect(evaluate(facts(20, 20, 20), { ...facts(20, 20, 20), afterMs: dayMs })).toEqual([
      [`opened ${rate} wh_1`, `opened ${inARow} wh_1 covered by ${rate}`],
      [`repeated ${rate} wh_1`, `repeated ${inARow} wh_1 covered by ${rate}`],
    ]);
  });

  test('quota: one warning, one notice when it is used up, and one when it is available again', () => {
    const month = (used: number) => ({ month: { used, quota: 1_000 } });
    expect(evaluate(month(799), month(800), month(900), month(1_000), month(1_001), month(0))).toEqual([
      [],
      ['opened quota warning'],
      [],
      ['opened quota exceeded'],
      [],
      ['recovered quota exceeded'],
    ]);
    expect(evaluate(month(1_000), {})).toEqual([['opened quota exceeded'], ['recovered quota exceeded']]);
    expect(evaluate(month(800), { month: { used: 0, quota: 0 } })).toEqual([
      ['opened quota warning'],
      ['recovered quota warning'],
    ]);
  });

  test('keys: one notice and a daily reminder; recovered after a roll, not after expiry', () => {
    const key = (expiresInDays: number) => ({
      expiringKeys: [{ keyId: 'key_1', name: 'nightly', expiresAtMs: nowMs + expiresInDays * dayMs, document: null }],
    });
    const day = { afterMs: dayMs };
    expect(evaluate({ ...key(8), afterMs: 1 }, { ...key(8), ...day }, { ...key(8), ...day }, {})).toEqual([
      [],
      ['opened key_expiry key_1'],
      ['repeated key_expiry key_1'],
      ['recovered key_expiry key_1'],
    ]);
    expect(evaluate({ ...key(1), afterMs: 1 }, { ...key(1), ...day })).toEqual([['opened key_expiry key_1'], []]);
  });

  test('a disabled rule returns no notices, and its open incident ends', () => {
    const off = rules.map((rule) => ({ ...rule, enabled: rule.kind !== 'webhook_disabled' }));
    const disabledWebhooks = [{ webhookId: 'wh_1', reason: 'gone', url: '' }];
    expect(evaluate({ disabledWebhooks }, { disabledWebhooks, rules: off }, { disabledWebhooks })).toEqual([
      ['opened webhook_disabled wh_1'],
      [],
      ['opened webhook_disabled wh_1'],
    ]);
  });

  test('percentages are rounded down, so that 100% means all', () => {
    const summaryOf = (used: number) => {
      const facts = { ...quiet, month: { used, quota: 1_000_000 } };
      const { incidents } = decide(rules, facts, [], { nowMs, newId: () => 'inc_1' });
      return incidents[0]?.summary;
    };
    expect(summaryOf(999_999)).toBe("99.9% of this month's quota of 1000000 requests is used");
    expect(summaryOf(813_000)).toBe("81.3% of this month's quota of 1000000 requests is used");
  });
});
