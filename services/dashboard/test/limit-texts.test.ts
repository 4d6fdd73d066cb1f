import type { LimitsDocument } from '../src/documents/limits.ts';
import { expiredText, logRanges } from '../web/src/features/deliveries/log-retention.ts';
import {
  keyCountText,
  keyLimitHint,
  keyLimitText,
  maximumText,
  memberCountText,
  rateText,
  requestLogText,
  unknownRequestText,
} from '../web/src/features/rules/limit-texts.ts';
import { failingText, webhookCountText, webhookUrlHint } from '../web/src/features/webhooks/webhook-limits.ts';

const limits: LimitsDocument = {
  plan: null,
  limits: {
    requests_per_window: 6_000,
    workspace_requests_per_window: 60_000,
    window_seconds: 60,
    requests_per_month: null,
  },
  max_keys: 1_000,
  max_webhooks: 5,
  max_members: 1_000,
  max_invitations: 100,
  webhook_urls: { http: false, private_networks: false },
  webhook_disable_after_hours: 120,
  delivery_log_days: 30,
  request_log: 'all',
  request_log_days: 7,
  trace_url: null,
};

const unlimited = { plan: null, limits: { ...limits.limits, requests_per_window: null } };

test.each([
  [false, false, 'A public HTTPS URL.'],
  [true, false, 'A public HTTP or HTTPS URL.'],
  [false, true, 'An HTTPS URL that is public or in a network that this installation permits.'],
  [true, true, 'An HTTP or HTTPS URL that is public or in a network that this installation permits.'],
])('the hint for URLs of webhooks follows the settings: http %s, private networks %s', (http, hasPrivate, text) => {
  const response = 'It must respond with status 200 within 10 seconds, or the timeout of the webhook.';
  expect(webhookUrlHint({ webhook_urls: { http, private_networks: hasPrivate } })).toBe(`${text} ${response}`);
  expect(webhookUrlHint(undefined)).toBe(response);
});

test('the hint for the limit of a key names its source, the window and the limit', () => {
  expect(keyLimitHint(limits)).toBe(
    'A window is 1 min. Leave empty for the limit of this installation, 6,000. A key cannot exceed it.',
  );
  expect(
    keyLimitHint({ plan: 'gold', limits: { ...limits.limits, requests_per_window: 5, window_seconds: 3_600 } }),
  ).toBe('A window is 1 h. Leave empty for the limit of plan gold, 5. A key cannot exceed it.');
  expect(keyLimitHint(unlimited)).toBe('A window is 1 min. Leave empty for no limit.');
  expect([keyLimitText(5, limits), keyLimitText(null, limits), keyLimitText(null, undefined)]).toEqual([
    '5',
    '6,000, the limit of this installation',
    'limit of the workspace',
  ]);
  expect(keyLimitText(null, { ...limits, plan: 'gold' })).toBe('6,000, the limit of plan gold');
  expect(keyLimitText(null, unlimited)).toBe('no limit');
  expect([rateText(null, 60), rateText(6_000, 60), rateText(6_000, 90)]).toEqual([
    'no limit',
    '6,000 per minute',
    '6,000 per 1 min 30 s',
  ]);
});

test('maximum numbers are stated only if there are any', () => {
  expect(webhookCountText(limits)).toBe('A workspace can have up to 5 webhooks in both environments together.');
  expect(keyCountText(limits)).toBe('A workspace can have up to 1,000 valid keys.');
  expect(memberCountText(limits)).toBe('A workspace can have up to 1,000 members and 100 open invitations.');
  const none = { max_webhooks: 0, max_keys: 0, max_members: 0, max_invitations: 0 };
  expect([webhookCountText(none), keyCountText(none), memberCountText(none)]).toEqual(['', '', '']);
  expect(memberCountText({ ...none, max_invitations: 2 })).toBe('A workspace can have up to 2 open invitations.');
  expect([webhookCountText(undefined), keyCountText(undefined), memberCountText(undefined)]).toEqual(['', '', '']);
  expect([maximumText(0), maximumText(1_000)]).toEqual(['no limit', 'at most 1,000']);
});

test('texts about retention state its length', () => {
  expect(expiredText({ delivery_log_days: 8 })).toBe(
    'The delivery reached the retention of 8 days of the delivery log and is no longer retried.',
  );
  expect(unknownRequestText(limits)).toMatch(/or is older than 7 days\.$/);
  expect(unknownRequestText({ ...limits, request_log: 'writes', request_log_days: 1 })).toMatch(
    /was a successful read, or is older than 1 day\.$/,
  );
  expect(unknownRequestText({ ...limits, request_log: 'none' })).toMatch(/does not record requests/);
  expect(['all', 'writes', 'none'].map((log) => requestLogText({ ...limits, request_log: log as 'all' }))).toEqual([
    '7 days',
    '7 days, only writes and failed reads',
    'none',
  ]);
});

test('the time ranges of a replay end with the retention of the delivery log', () => {
  const rangesOf = (days: number) => logRanges({ delivery_log_days: days }).map(([, text]) => text);
  const short = ['Last hour', 'Last 24 hours', 'Last 7 days'];
  expect(rangesOf(8)).toEqual([...short, 'Last 8 days']);
  expect(rangesOf(30)).toEqual([...short, 'Last 30 days']);
  expect(rangesOf(90)).toEqual([...short, 'Last 30 days', 'Last 90 days']);
  expect(logRanges({ delivery_log_days: 90 }).at(-1)).toEqual(['7776000', 'Last 90 days']);
  expect(logRanges(undefined).map(([, text]) => text)).toEqual(short);
});

test('the reason of an automatically disabled webhook states the time without a success', () => {
  expect(failingText({ webhook_disable_after_hours: 120 })).toBe('no delivery succeeded for 5 d');
  expect(failingText({ webhook_disable_after_hours: 0 })).toBe('no delivery succeeded for too long');
});
