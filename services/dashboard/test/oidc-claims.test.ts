import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disposable } from '@rms/testkit';
import { type OidcScene, startOidcScene } from './oidc-support.ts';

let oidc: OidcScene;
beforeAll(async () => {
  oidc = await startOidcScene();
});
beforeEach(() => oidc.reset());
afterAll(() => oidc?.stop());

test.each([
  [
    'that only UserInfo contains, as with Authelia, Zitadel and Okta,',
    { email: 'person@example.com', email_verified: true },
    {},
  ],
  [
    'that only UserInfo contains, with email_verified as text, as with Cognito,',
    { email: 'person@example.com', email_verified: 'true' },
    {},
  ],
  [
    'that only UserInfo states as verified',
    { email: 'Person@example.com', email_verified: true },
    { email: 'person@example.com' },
  ],
  ['with email_verified as text', {}, { email: 'person@example.com', email_verified: 'True' }],
])('an email address %s is verified', async (_, atUserInfo, inToken) => {
  oidc.hasEmail = false;
  oidc.userInfo = atUserInfo;
  oidc.claims = inToken;
  const { identity, reason } = await oidc.identify();
  expect([identity, reason]).toEqual([
    { issuer: oidc.issuer, subject: 'subject-1', email: 'person@example.com', emailVerified: true },
    null,
  ]);
});

test('UserInfo is not read if the ID token has the email address', async () => {
  await oidc.identify();
  expect(oidc.authorizations).not.toContain('Bearer access');
  oidc.hasEmail = false;
  oidc.claims = {};
  await oidc.identify();
  expect(oidc.authorizations).toContain('Bearer access');
});

test.each([
  ['no address', {}, {}, 'email_missing'],
  ['no verification', {}, { email: 'person@example.com' }, 'email_unverified'],
  ['an address that is not verified', {}, { email: 'person@example.com', email_verified: false }, 'email_unverified'],
  ['"false"', {}, { email: 'person@example.com', email_verified: 'false' }, 'email_unverified'],
  ['a number', {}, { email: 'person@example.com', email_verified: 1 }, 'email_unverified'],
  [
    'the verification of another address',
    { email: 'other@example.com', email_verified: true },
    { email: 'person@example.com' },
    'email_unverified',
  ],
  [
    'claims of another subject',
    { sub: 'other', email: 'person@example.com', email_verified: true },
    {},
    'email_missing',
  ],
  ['no UserInfo', 500, {}, 'email_missing'],
  ['a verified address without an account', {}, { email: 'new@example.com', email_verified: true }, 'no_account'],
])('with %s, the page and the log name the problem', async (_, atUserInfo, inToken, reason) => {
  oidc.hasEmail = false;
  oidc.userInfo = atUserInfo;
  oidc.claims = inToken;
  oidc.isRefused = true;
  const before = oidc.dashboard.lines.length;
  const found = await oidc.identify();
  expect([found.identity.emailVerified, found.reason]).toEqual([reason === 'no_account', reason]);
  const logged = oidc.dashboard.lines.slice(before).join('');
  expect(logged).toContain(`"reason":"${reason}"`);
  expect(logged).toContain('"claims":["');
  expect(logged).not.toContain('password');
  expect(logged).not.toMatch(/(person|new|other)@example/);
});

test('a linked identity signs in without an email address, whatever UserInfo responds', async () => {
  oidc.hasEmail = false;
  for (const userInfo of [{}, 503, { sub: 'other' }]) {
    oidc.userInfo = userInfo;
    oidc.claims = {};
    expect(await oidc.identify()).toMatchObject({ identity: { email: '', emailVerified: false }, reason: null });
  }
});

describe('With other claims', () => {
  const withSettings = async (env: Record<string, string>, tests: [object, object][]) => {
    await using other = disposable(await oidc.startWith(env));
    for (const [given, expected] of tests) {
      oidc.claims = { ...given };
      oidc.hasEmail = false;
      expect([given, (await oidc.identify(other)).identity]).toMatchObject([given, expected]);
    }
  };

  test('OIDC_EMAIL_TRUST accepts an address without email_verified, as from Entra ID, and no address that is not verified', () =>
    withSettings({ OIDC_EMAIL_TRUST: 'true' }, [
      [{ email: 'a@example.com' }, { email: 'a@example.com', emailVerified: true }],
      [{ email: 'a@example.com', email_verified: false }, { emailVerified: false }],
      [{ email: 'a@example.com', email_verified: 'false' }, { emailVerified: false }],
      [{}, { email: '', emailVerified: false }],
    ]));

  test('OIDC_EMAIL_CLAIM names the claim, and email_verified applies only to the address that it concerns', () =>
    withSettings({ OIDC_EMAIL_CLAIM: 'https://example.com/mail' }, [
      [
        { 'https://example.com/mail': 'a@example.com', email_verified: true },
        { email: 'a@example.com', emailVerified: true },
      ],
      [
        { 'https://example.com/mail': 'a@example.com', email: 'b@example.com', email_verified: true },
        { email: 'a@example.com', emailVerified: false },
      ],
      [
        { email: 'b@example.com', email_verified: true },
        { email: '', emailVerified: false },
      ],
    ]));

  test('a provider that supports only Basic authentication gets the client secret there', async () => {
    oidc.authMethods = ['client_secret_basic'];
    await withSettings({}, [[{ email: 'a@example.com', email_verified: true }, { emailVerified: true }]]);
    oidc.authMethods = ['client_secret_basic', 'client_secret_post'];
    const secret = Buffer.from('rms:secret+of+the+client').toString('base64');
    expect(oidc.authorizations).toContain(`Basic ${secret}`);
    expect(oidc.tokenRequests[0]?.has('client_secret')).toBe(false);
  });
});

test('each sign-in uses the current OIDC_CLIENT_SECRET_FILE', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-oidc-'));
  const file = join(folder, 'secret');
  writeFileSync(file, 'first');
  const other = await oidc.startWith({ OIDC_CLIENT_SECRET: '', OIDC_CLIENT_SECRET_FILE: file });
  try {
    await oidc.identify(other);
    writeFileSync(file, 'second');
    oidc.claims = {};
    await oidc.identify(other);
    expect(oidc.tokenRequests.map((sent) => sent.get('client_secret'))).toEqual(['first', 'second']);
  } finally {
    await other.stop();
    rmSync(folder, { recursive: true });
  }
});
