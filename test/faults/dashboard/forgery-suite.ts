import { request } from 'node:http';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { browserAt, codeOf, sessionOf, signInAt } from './browser.ts';
import { isChange, known, sendCall, type World } from './world.ts';

const evil = 'https://evil.example.com';

/**
 * Tests attacks from another site: requests that it makes a browser send, responses that it tries to read or frame, and
 * sessions that it plants.
 */
export function forgerySuite(world: World): void {
  const changes = known.filter(([, endpoint]) => isChange(endpoint));

  test.each(changes)(
    '%s: rejects requests from another site in every form',
    async (_, endpoint, { keyedBy, calls }) => {
      const victim = await world.signIn(await world.member(Role.OWNER));
      const other = await world.signIn(world.otherOwner);
      const before = await world.stateOfOwner();
      const { workspaceId } = world;
      const forms: Record<string, string>[] = [
        { Origin: '' },
        { Origin: 'null' },
        { Origin: evil },
        { Origin: `${world.url}.evil.example.com` },
        { Origin: world.url.replace('http:', 'https:') },
        { Origin: world.url.replace(/\d+$/, '1') },
        { Origin: '', Referer: `${world.url}/` },
        { 'Sec-Fetch-Site': 'cross-site' },
        { 'Sec-Fetch-Site': 'same-site' },
        { 'Sec-Fetch-Site': 'none' },
        { Origin: evil, 'X-Forwarded-Host': 'evil.example.com' },
        { Origin: evil, 'Content-Type': 'application/x-www-form-urlencoded' },
        { Origin: evil, 'Content-Type': 'text/plain' },
        { Origin: 'null', 'Content-Type': 'multipart/form-data; boundary=x' },
        ...(keyedBy === 'none' ? [] : [{ 'X-CSRF-Token': '' }, { 'X-CSRF-Token': other.csrfToken }]),
      ];
      for (const call of calls) {
        for (const headers of forms) {
          const response = await sendCall(victim, endpoint, call(world.named), { workspaceId, headers });
          const code = 'X-CSRF-Token' in headers ? 'session_changed' : 'cross_site_request';
          expect([headers, response.status, codeOf(response)]).toEqual([headers, 403, code]);
          // The response neither starts nor ends a session.
          expect(response.headers.getSetCookie()).toEqual([]);
        }
        // A form that an attacker injects into a dashboard page cannot send JSON, so its request is rejected.
        if (!call(world.named).body) continue;
        for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
          const headers = { 'Content-Type': type };
          const response = await sendCall(victim, endpoint, call(world.named), { workspaceId, headers });
          expect([type, response.status]).toEqual([type, 415]);
        }
      }
      expect(await world.stateOfOwner()).toEqual(before);
      expect((await victim.send('GET', '/api/account')).status).toBe(200);
    },
  );

  test('no response can be read, framed or sniffed by another site', async () => {
    const browser = await world.signIn(world.otherOwner);
    const tenantPath = `/api/workspaces/${world.otherOwner.workspaceId}/live`;
    const asset = /src="(\/assets\/[^"]+)"/.exec((await browser.send('GET', '/')).text)?.[1] ?? '';
    expect(asset).not.toBe('');
    for (const path of [
      '/',
      '/sign-in',
      '/none/such',
      '/w/x/live',
      asset,
      '/api/account',
      '/api/none',
      `${tenantPath}/api_keys`,
    ]) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT']) {
        const { status, headers } = await browser.send(method, path, { headers: { Origin: evil } });
        const policy = headers.get('content-security-policy') ?? '';
        expect([path, method, policy]).toEqual([path, method, expect.stringContaining("frame-ancestors 'none'")]);
        expect(policy).toContain("default-src 'none'");
        expect(policy).not.toMatch(/unsafe-|\*/);
        expect(headers.get('x-frame-options')).toBe('DENY');
        expect(headers.get('x-content-type-options')).toBe('nosniff');
        expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
        expect(headers.get('referrer-policy')).toBe('no-referrer');
        expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
        if (path !== asset || status !== 200) expect(headers.get('cache-control')).toMatch(/no-store|no-cache/);
        expect(headers.get('x-powered-by')).toBeNull();
      }
    }
  });

  test('no sign-in step authenticates a planted session', async () => {
    const planted = `rms_session_${new URL(world.url).port}=${'A'.repeat(43)}`;
    const member = await world.member(Role.VIEWER);
    const first = await signInAt(world.url, member, planted);
    expect(first.cookie).not.toBe(planted);
    expect((await browserAt(world.url, { cookie: planted }).send('GET', '/api/account')).status).toBe(401);
    // An attacker's own session is planted as well. When a user signs in with it, it ends and is not reused.
    const attacker = await world.signIn(world.otherOwner);
    const second = await signInAt(world.url, member, attacker.cookie);
    expect((await attacker.send('GET', '/api/account')).status).toBe(401);
    expect((await second.send('GET', '/api/account')).text).toContain(member.email);
    // Each proof of identity starts a new session and ends the previous one.
    const body = { current_password: member.password, password: 'quite another one of twelve' };
    const changed = await second.send('POST', '/api/account/password', { body });
    expect(sessionOf(changed)).not.toBe(second.cookie);
    expect((await second.send('GET', '/api/account')).status).toBe(401);
    expect((await first.send('GET', '/api/account')).status).toBe(401);
  });

  test('two session cookies in one request are rejected', async () => {
    const victim = await world.signIn(await world.member(Role.VIEWER));
    const attacker = await world.signIn(world.otherOwner);
    for (const cookie of [`${attacker.cookie}; ${victim.cookie}`, `${victim.cookie}; ${attacker.cookie}`]) {
      const response = await browserAt(world.url, { cookie }).send('GET', '/api/account');
      expect(response.status).toBe(401);
    }
  });

  test('sessions end at sign-out and when an operator resets the user', async () => {
    const member = await world.member(Role.VIEWER);
    const [one, two] = [await world.signIn(member), await world.signIn(member)];
    expect((await one.send('POST', '/api/account/sign-out')).status).toBe(204);
    expect((await one.send('GET', '/api/account')).status).toBe(401);
    expect((await two.send('GET', '/api/account')).status).toBe(200);
    await world.rpc.users.resetUser({ id: member.id });
    expect((await two.send('GET', '/api/account')).status).toBe(401);
  });

  test('the host name of a request never appears in a response', async () => {
    const victim = await world.signIn(world.otherOwner);
    const { hostname, port } = new URL(world.url);
    const ask = (method: string, path: string, headers: Record<string, string>) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const sent = request(
          { hostname, port, method, path, headers: { Cookie: victim.cookie, ...headers } },
          (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (part: string) => {
              text += part;
            });
            response.on('end', () =>
              resolve({ status: response.statusCode ?? 0, text: JSON.stringify(response.headers) + text }),
            );
          },
        );
        sent.on('error', reject).end();
      });
    for (const headers of [
      { Host: 'evil.example.com' },
      { Host: `${hostname}:${port}`, 'X-Forwarded-Host': 'evil.example.com' },
      { Host: `${hostname}:${port}`, Forwarded: 'host=evil.example.com' },
    ]) {
      for (const path of ['/', '/sign-in', '/api/account', '/none', '/api/oidc/start']) {
        expect((await ask('GET', path, headers)).text).not.toContain('evil.example.com');
      }
    }
  });
}
