import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { createProvider } from '../src/oidc/provider.ts';

test('metadata of the provider are read again after an hour, and kept while it is unavailable', async () => {
  let path = '/first';
  let isAvailable = true;
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.statusCode = isAvailable ? 200 : 503;
    response.setHeader('Content-Type', 'application/json');
    response.end(
      JSON.stringify({
        issuer,
        authorization_endpoint: `${issuer}${path}`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let nowMs = 0;
  const provider = createProvider(
    {
      issuer,
      clientId: 'rms',
      clientSecret: () => 'secret',
      name: '',
      emailClaim: 'email',
      trustEmail: false,
      proxyFor: () => () => undefined,
      endsSession: false,
      ca: undefined,
    },
    createLogger({ name: 'test', level: 'silent' }),
    () => nowMs,
  );
  const visit = { redirectUri: 'https://dashboard.example.com/', state: 'state', choosesAccount: false };
  const begin = async () => {
    const checks = provider.newChecks();
    const url = await provider.begin({ ...checks, ...visit });
    return url.pathname;
  };
  try {
    isAvailable = false;
    await expect(begin()).rejects.toMatchObject({ code: 'service_unavailable' });
    isAvailable = true;
    expect(await begin()).toBe('/first');
    path = '/second';
    nowMs = 3_599_999;
    expect(await begin()).toBe('/first');
    expect(requests).toBe(2);
    nowMs = 3_600_000;
    isAvailable = false;
    expect(await begin()).toBe('/first');
    isAvailable = true;
    expect(await Promise.all([begin(), begin()])).toEqual(['/second', '/second']);
    expect(requests).toBe(4);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

describe('a provider whose issuer ends with a slash', () => {
  const begin = async (issuerOf: (url: string) => string) => {
    let issuer = '';
    const server = createServer((_request, response) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ issuer, authorization_endpoint: `${issuer}authorize` }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/application/o/rms/`;
    try {
      const { OIDC_ISSUER = '' } = readSettings({ OIDC_ISSUER: issuerOf(issuer) });
      const provider = createProvider(
        {
          issuer: OIDC_ISSUER,
          clientId: 'rms',
          clientSecret: () => '',
          name: '',
          emailClaim: '',
          trustEmail: false,
          proxyFor: () => () => undefined,
          endsSession: false,
          ca: undefined,
        },
        createLogger({ name: 'test', level: 'silent' }),
      );
      const redirectUri = 'https://dashboard.example.com/';
      const visit = { ...provider.newChecks(), redirectUri, state: 'state', choosesAccount: false };
      return (await provider.begin(visit)).pathname;
    } finally {
      server.closeAllConnections();
      server.close();
    }
  };

  test('is used if OIDC_ISSUER has the slash', async () => {
    expect(await begin((issuer) => issuer)).toBe('/application/o/rms/authorize');
  });

  test('is refused with both names if OIDC_ISSUER has no slash', async () => {
    await expect(begin((issuer) => issuer.slice(0, -1))).rejects.toMatchObject({
      code: 'service_unavailable',
      cause: {
        message: expect.stringMatching(
          /^OIDC_ISSUER is "http:[^"]*\/o\/rms", but the provider names itself "http:[^"]*\/o\/rms\/"$/,
        ),
      },
    });
  });
});
