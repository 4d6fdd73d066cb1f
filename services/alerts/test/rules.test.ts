import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import fc from 'fast-check';
import { addressesOf } from '../src/notify/addresses.ts';
import {
  makeResubscribeToken,
  makeUnsubscribeToken,
  readResubscribeToken,
  readUnsubscribeToken,
  resubscribeLifeMs,
} from '../src/notify/unsubscribe-token.ts';
import { isEmailAddress } from '../src/rule/rule.ts';
import { newTenant, startAlerts } from './support.ts';

describe('Email addresses', () => {
  test.each(['a@example.com', 'first.last+tag@sub.example.test', "o'neil@example.com", 'x@localhost'])(
    '%s is valid',
    (text) => {
      expect(isEmailAddress(text)).toBe(true);
    },
  );

  test.each([
    ...['', 'a', '@example.com', 'a@', 'a b@example.com', 'a@example.com, b@example.com', '<a@example.com>'],
    ...['a@exa_mple.com', 'a@-example.com', '"a"@example.com', '.a@example.com', 'a..b@example.com', 'ä@example.com'],
    ...['a@example.com\r\nBcc: b@example.com', 'a\n@example.com', 'a@example.com\n', `${'a'.repeat(65)}@example.com`],
  ])('%j is invalid', (text) => {
    expect(isEmailAddress(text)).toBe(false);
  });

  test('text with a control character, a space or a separator is invalid', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom('\r', '\n', '\0', ' ', ',', ';', '<', '>', '\t', '(', '"'),
        fc.string(),
        (a, c, b) => {
          expect(isEmailAddress(`${a}${c}${b}@example.com`)).toBe(false);
          expect(isEmailAddress(`a@${a}${c}${b}`)).toBe(false);
        },
      ),
    );
  });

  test('addresses are deduplicated, and unsubscribed and unconfirmed ones are removed', () => {
    const rule = { recipients: ['a@example.com', 'B@example.com'], toOwners: true };
    const owners = ['b@example.com', 'c@example.com', 'not an address'];
    const all = { owners, unsubscribed: [], unconfirmed: new Set<string>() };
    expect(addressesOf(rule, { ...all, unsubscribed: ['A@example.com'] })).toEqual(['B@example.com', 'c@example.com']);
    expect(addressesOf({ ...rule, toOwners: false }, all)).toEqual(['a@example.com', 'B@example.com']);
    expect(addressesOf(rule, { ...all, unconfirmed: new Set(['b@example.com']) })).toEqual([
      'a@example.com',
      'c@example.com',
    ]);
  });

  test('the tokens of an unsubscribe link are for one purpose, address and rule, and cannot be forged', () => {
    const key = Buffer.alloc(32, 7);
    const one = { workspaceId: 'ws_1', environment: 'live', kind: 'quota', address: 'a@example.com' } as const;
    const token = makeUnsubscribeToken([key], one);
    expect(readUnsubscribeToken([Buffer.alloc(32, 8), key], token)).toEqual(one);
    expect(readUnsubscribeToken([Buffer.alloc(32, 8)], token)).toBe(undefined);
    expect(readUnsubscribeToken([key], `${token}x`)).toBe(undefined);
    expect(readUnsubscribeToken([key], '')).toBe(undefined);
    const undo = makeResubscribeToken([key], one, 1_000);
    expect(readResubscribeToken([Buffer.alloc(32, 8), key], undo, 1_000)).toEqual(one);
    expect(readResubscribeToken([key], undo, 999 + resubscribeLifeMs)).toEqual(one);
    expect(readResubscribeToken([key], undo, 1_000 + resubscribeLifeMs)).toBe(undefined);
    expect(readResubscribeToken([Buffer.alloc(32, 8)], undo, 1_000)).toBe(undefined);
    expect(readResubscribeToken([key], token, 1_000)).toBe(undefined);
    expect(readUnsubscribeToken([key], undo)).toBe(undefined);
  });
});

describe('Rules', () => {
  const service = perSuite(startAlerts);

  test('exist by default: one per kind, enabled, with the owners as recipients', async () => {
    const { rules } = await service.alerts.listRules(newTenant());
    expect(rules.map(({ kind }) => kind)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(rules.every(({ enabled, toOwners, updateTime }) => enabled && toOwners && !updateTime)).toBe(true);
    expect(rules[0]).toMatchObject({ threshold: 0.1, minimum: 50n, window: { seconds: 300n }, recipients: [] });
    expect(rules[6]).toMatchObject({ threshold: 7, minimum: 0n });
    expect(rules[6]?.window).toBe(undefined);
  });

  test('updates change only the given fields, per workspace and environment, and are in the audit log', async () => {
    const tenant = newTenant();
    const kind = AlertKind.API_ERROR_RATE;
    const { rule } = await service.alerts.updateRule(
      {
        ...tenant,
        kind,
        threshold: 0.25,
        window: durationFromMs(600_000),
        recipients: { addresses: ['ops@example.com', 'OPS@example.com '] },
      },
      { context: { actor: 'user:usr_1', requestId: 'req_1' } },
    );
    expect(rule).toMatchObject({
      threshold: 0.25,
      window: { seconds: 600n },
      minimum: 50n,
      enabled: true,
      toOwners: true,
    });
    expect(rule?.recipients).toEqual(['OPS@example.com']);
    await service.alerts.updateRule({
      ...tenant,
      kind,
      enabled: false,
      toOwners: false,
      recipients: { addresses: [] },
    });
    const { rules } = await service.alerts.listRules(tenant);
    expect(rules[0]).toMatchObject({ enabled: false, toOwners: false, recipients: [], threshold: 0.25 });
    expect(rules[1]?.updateTime).toBe(undefined);
    const sandbox = await service.alerts.listRules({ ...tenant, environment: Environment.SANDBOX });
    expect(sandbox.rules[0]).toMatchObject({ enabled: true, threshold: 0.1 });
    const { rows } = await service.database.pool.query(
      `select actor, action, target_id, changes from audit.entries where workspace_id = $1 order by id`,
      [tenant.workspaceId],
    );
    expect(rows).toMatchObject([
      {
        ...{ actor: 'user:usr_1', action: 'alert_rule.updated', target_id: 'api_error_rate' },
        changes: expect.arrayContaining([{ field: 'threshold', before: 0.1, after: 0.25 }]),
      },
      {
        action: 'alert_rule.updated',
        changes: expect.arrayContaining([{ field: 'enabled', before: true, after: false }]),
      },
    ]);
  });

  test.each([
    ['a rate above 1', AlertKind.API_ERROR_RATE, { threshold: 1.1 }, 'threshold'],
    ['NaN as a threshold', AlertKind.API_ERROR_RATE, { threshold: Number.NaN }, 'threshold'],
    ['half a day before key expiry', AlertKind.KEY_EXPIRY, { threshold: 0.5 }, 'threshold'],
    ['a window of half a minute', AlertKind.RATE_LIMITED, { window: durationFromMs(30_000) }, 'window'],
    ['a window of two days', AlertKind.RATE_LIMITED, { window: durationFromMs(172_800_000) }, 'window'],
    ['a window for a rule without windows', AlertKind.QUOTA, { window: durationFromMs(60_000) }, 'window'],
    ['a negative minimum', AlertKind.API_ERROR_RATE, { minimum: -1n }, 'minimum'],
    ['a minimum for a rule without a minimum', AlertKind.QUOTA, { minimum: 1n }, 'minimum'],
    ['an invalid address', AlertKind.QUOTA, { recipients: { addresses: ['nobody'] } }, 'recipients'],
    [
      'a header in an address',
      AlertKind.QUOTA,
      { recipients: { addresses: ['a@example.com\r\nBcc: b@example.com'] } },
      'recipients',
    ],
    [
      '21 addresses',
      AlertKind.QUOTA,
      { recipients: { addresses: Array.from({ length: 21 }, (_, i) => `a${i}@example.com`) } },
      'recipients',
    ],
    ['an unspecified kind', AlertKind.UNSPECIFIED, {}, 'kind'],
  ])('reject %s', async (_, kind, change, field) => {
    const tenant = newTenant();
    await expect(service.alerts.updateRule({ ...tenant, kind, ...change })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [expect.objectContaining({ field })],
    });
    const { rules } = await service.alerts.listRules(tenant);
    expect(rules.every(({ updateTime }) => updateTime === undefined)).toBe(true);
  });

  test('reject an unspecified kind and name the known ones', async () => {
    const message = expect.stringMatching(/^must be one of .*\bquota\b/);
    const refused = { code: 'invalid_request', details: [{ field: 'kind', message }] };
    const request = { ...newTenant(), kind: AlertKind.UNSPECIFIED };
    await expect(service.alerts.updateRule(request)).rejects.toMatchObject(refused);
    await expect(service.alerts.testRule(request)).rejects.toMatchObject(refused);
  });

  test('reject requests without a workspace or environment', async () => {
    for (const bad of [
      { workspaceId: '', environment: Environment.LIVE },
      { workspaceId: 'ws_1', environment: Environment.UNSPECIFIED },
    ]) {
      await expect(service.alerts.listRules(bad)).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(service.alerts.updateRule({ ...bad, kind: AlertKind.QUOTA })).rejects.toMatchObject({
        code: 'invalid_request',
      });
      await expect(service.alerts.testRule({ ...bad, kind: AlertKind.QUOTA })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
  });
});
