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

/** What the rules find, looked at once after another. */
function looks(...all: (Partial<Facts> & { rules?: Rule[]; afterMs?: number })[]) {
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
    return decision.notices.map(({ incident, notice }) => `${notice} ${incident.kind} ${incident.subjectId}`.trim());
  });
}

const requests = (facts: Partial<typeof none>) => ({
  requests: { api_error_rate: { ...none, ...facts }, rate_limited: { ...none, ...facts } },
});

describe('What the rules find', () => {
  test('nothing, where nothing happens', () => {
    expect(looks({}, {})).toEqual([[], []]);
  });

  test.each([
    ['too few requests', { requests: 49, errors: 49 }, []],
    ['just enough', { requests: 50, errors: 5 }, ['opened api_error_rate']],
    ['just below the share', { requests: 51, errors: 5 }, []],
    [
      'refused ones do not count',
      { requests: 100, errors: 5, refused: 50, rateLimited: 49 },
      ['opened api_error_rate'],
    ],
    ['all refused', { requests: 100, errors: 0, refused: 100, rateLimited: 49 }, []],
    ['refused again and again', { requests: 100, errors: 0, refused: 50, rateLimited: 50 }, ['opened rate_limited']],
  ])('about requests: %s', (_, facts, notices) => {
    expect(looks(requests(facts))).toEqual([notices]);
  });

  test('about webhooks: each is a subject of its own', () => {
    const webhooks = [
      { webhookId: 'wh_good', attempts: 100, failedAttempts: 49, failures: 2 },
      { webhookId: 'wh_half', attempts: 20, failedAttempts: 10, failures: 0 },
      { webhookId: 'wh_few', attempts: 19, failedAttempts: 19, failures: 19 },
    ];
    expect(looks({ webhooks })).toEqual([
      ['opened delivery_failure_rate wh_half', 'opened delivery_failures_in_a_row wh_few'],
    ]);
  });

  test('about webhooks: one that is not called any more ends without a word', () => {
    const failing = { webhookId: 'wh_1', attempts: 5, failedAttempts: 5, failures: 5 };
    expect(looks({ webhooks: [failing] }, {}, { webhooks: [{ ...failing, failures: 2 }] })).toEqual([
      ['opened delivery_failures_in_a_row wh_1'],
      [],
      [],
    ]);
  });

  test('about the quota: a warning, then that it is used up, then once that it is not', () => {
    const month = (used: number) => ({ month: { used, quota: 1_000 } });
    expect(looks(month(799), month(800), month(900), month(1_000), month(1_001), month(0))).toEqual([
      [],
      ['opened quota warning'],
      [],
      ['opened quota exceeded'],
      [],
      ['recovered quota exceeded'],
    ]);
    expect(looks(month(1_000), {})).toEqual([['opened quota exceeded'], ['recovered quota exceeded']]);
    expect(looks(month(800), { month: { used: 0, quota: 0 } })).toEqual([
      ['opened quota warning'],
      ['recovered quota warning'],
    ]);
  });

  test('about keys: told once and daily, over when it is rolled, not when it has expired', () => {
    const key = (expiresInDays: number) => ({
      expiringKeys: [{ keyId: 'key_1', name: 'nightly', expiresAtMs: nowMs + expiresInDays * dayMs }],
    });
    const day = { afterMs: dayMs };
    expect(looks({ ...key(8), afterMs: 1 }, { ...key(8), ...day }, { ...key(8), ...day }, {})).toEqual([
      [],
      ['opened key_expiry key_1'],
      ['repeated key_expiry key_1'],
      ['recovered key_expiry key_1'],
    ]);
    expect(looks({ ...key(1), afterMs: 1 }, { ...key(1), ...day })).toEqual([['opened key_expiry key_1'], []]);
  });

  test('of a rule that is off is nothing, and what it had found ends', () => {
    const off = rules.map((rule) => ({ ...rule, enabled: rule.kind !== 'webhook_disabled' }));
    const disabledWebhooks = [{ webhookId: 'wh_1', reason: 'gone' }];
    expect(looks({ disabledWebhooks }, { disabledWebhooks, rules: off }, { disabledWebhooks })).toEqual([
      ['opened webhook_disabled wh_1'],
      [],
      ['opened webhook_disabled wh_1'],
    ]);
  });
});
