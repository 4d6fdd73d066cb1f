import { type OidcScene, startOidcScene } from './oidc-support.ts';

let oidc: OidcScene;
beforeAll(async () => {
  oidc = await startOidcScene();
});
beforeEach(() => oidc.reset());
afterAll(() => oidc?.stop());

/** Returns the reason why a sign-in failed; null if it succeeded. */
const reasonOf = async (claims: Record<string, unknown> = {}) => {
  oidc.claims = claims;
  return (await oidc.identify()).reason;
};
const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

test.each(['RS256', 'PS256', 'ES256', 'EdDSA'] as const)(
  'an ID token signed with %s is accepted',
  async (algorithm) => {
    oidc.algorithm = algorithm;
    expect(await reasonOf()).toBeNull();
  },
);

test('a provider that has just replaced its keys is trusted immediately', async () => {
  expect(await reasonOf()).toBeNull();
  oidc.keyGeneration += 1;
  expect(await reasonOf()).toBeNull();
});

test.each<[string, Record<string, unknown>, string | null]>([
  ['several audiences and this client as azp', { aud: ['other', 'rms'], azp: 'rms' }, null],
  ['several audiences and another client as azp', { aud: ['other', 'rms'], azp: 'other' }, 'failed'],
  ['the audience as a list', { aud: ['rms'] }, null],
  ['the audience of another client', { aud: ['other'] }, 'failed'],
])('an ID token with %s', async (_, claims, reason) => {
  expect(await reasonOf(claims)).toBe(reason);
});

test.each<[string, number, string | null]>([
  ['50 s', 50, null],
  ['120 s', 120, 'failed'],
])('the clock of the provider differs by %s', async (_, seconds, reason) => {
  // Behind: the token seems to have expired. Ahead: it seems not to be valid yet.
  expect(await reasonOf({ iat: secondsFromNow(-seconds - 60), exp: secondsFromNow(-seconds) })).toBe(reason);
  expect(await reasonOf({ iat: secondsFromNow(seconds), nbf: secondsFromNow(seconds), exp: secondsFromNow(600) })).toBe(
    reason,
  );
});

test('the issuer in the callback (RFC 9207) must be the provider', async () => {
  const locationOf = async (iss: string) => {
    oidc.claims = {};
    return (await oidc.followCallback(await oidc.begin('/'), { iss })).headers.get('location');
  };
  expect(await locationOf(oidc.issuer)).toBe('/');
  expect(await locationOf('https://other.example.com')).toMatch(/reason=failed/);
});

test.each([
  ['client_secret_post', false],
  ['client_secret_basic', true],
])('a provider that refuses %s for the client gets the secret by the other method', async (refused, isInBody) => {
  oidc.refusedMethods = [refused];
  expect(await reasonOf()).toBeNull();
  const requests = oidc.tokenRequests.length;
  expect(oidc.tokenRequests.at(-1)?.has('client_secret')).toBe(isInBody);
  // Later sign-ins begin with the method that was accepted.
  expect(await reasonOf()).toBeNull();
  expect(oidc.tokenRequests).toHaveLength(requests + 1);
});

test('a provider that refuses the client by every method is named as the reason', async () => {
  oidc.refusedMethods = ['client_secret_post', 'client_secret_basic'];
  expect(await reasonOf()).toBe('client_refused');
  expect(oidc.tokenRequests).toHaveLength(2);
});
