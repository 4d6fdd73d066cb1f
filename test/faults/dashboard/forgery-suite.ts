import { request } from 'node:http';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { browserAt, codeOf, sessionOf, signInAt } from './browser.ts';
import { isChange, known, sendCall, type World } from './world.ts';

const evil = 'https://evil.example.com';

/** Requests that another site makes a browser send, and pages that another site wants to show or to plant. */
export function forgerySuite(given: () => World): void {
  let world: World;
  beforeAll(() => {
    world = given();
  });

  const changes = known.filter(([, endpoint]) => isChange(endpoint));

  test.each(changes)(
    '%s: not from another site, in whatever form it comes',
    async (_, endpoint, { keyedBy, calls }) => {
      const victim = await world.signIn(await world.person(Role.OWNER));
      const other = await world.signIn(world.stranger);
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
        ...(keyedBy === 'nobody' ? [] : [{ 'X-CSRF-Token': '' }, { 'X-CSRF-Token': other.csrfToken }]),
      ];
      for (const call of calls) {
        for (const headers of forms) {
          const answer = await sendCall(victim, endpoint, call(world.named), { workspaceId, headers });
          expect([headers, answer.status, codeOf(answer)]).toEqual([headers, 403, 'cross_site_request']);
          // Nor does it sign anybody in, or out.
          expect(answer.headers.getSetCookie()).toEqual([]);
        }
        // Where a page of ours could be made to send a form, it is no JSON.
        if (!call(world.named).body) continue;
        for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
          const headers = { 'Content-Type': type };
          const answer = await sendCall(victim, endpoint, call(world.named), { workspaceId, headers });
          expect([type, answer.status]).toEqual([type, 415]);
        }
      }
      expect(await world.stateOfOwner()).toEqual(before);
      expect((await victim.send('GET', '/api/account')).status).toBe(200);
    },
  );

  test('no answer lets another site read it, frame it, or guess what it is', async () => {
    const browser = await world.signIn(world.stranger);
    const place = `/api/workspaces/${world.stranger.workspaceId}/live`;
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
      `${place}/keys`,
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

  test('a planted session is never signed in, by whichever step', async () => {
    const planted = `rms_session=${'A'.repeat(43)}`;
    const person = await world.person(Role.VIEWER);
    const first = await signInAt(world.url, person, planted);
    expect(first.cookie).not.toBe(planted);
    expect((await browserAt(world.url, { cookie: planted }).send('GET', '/api/account')).status).toBe(401);
    // The session of an attacker, planted as well: whoever signs in over it leaves it behind, ended.
    const attacker = await world.signIn(world.stranger);
    const second = await signInAt(world.url, person, attacker.cookie);
    expect((await attacker.send('GET', '/api/account')).status).toBe(401);
    expect((await second.send('GET', '/api/account')).text).toContain(person.email);
    // Each proof of who one is begins another session, and ends the one before.
    const body = { current_password: person.password, password: 'quite another one of twelve' };
    const changed = await second.send('POST', '/api/account/password', { body });
    expect(sessionOf(changed)).not.toBe(second.cookie);
    expect((await second.send('GET', '/api/account')).status).toBe(401);
    expect((await first.send('GET', '/api/account')).status).toBe(401);
  });

  test('a cookie that a neighbour has tossed in beside ours signs nobody in as somebody else', async () => {
    const victim = await world.signIn(await world.person(Role.VIEWER));
    const attacker = await world.signIn(world.stranger);
    for (const cookie of [`${attacker.cookie}; ${victim.cookie}`, `${victim.cookie}; ${attacker.cookie}`]) {
      const answer = await browserAt(world.url, { cookie }).send('GET', '/api/account');
      expect(answer.status).toBe(401);
    }
  });

  test('sessions end where they have to: signing out, a reset by an operator', async () => {
    const person = await world.person(Role.VIEWER);
    const [one, two] = [await world.signIn(person), await world.signIn(person)];
    expect((await one.send('POST', '/api/account/sign-out')).status).toBe(204);
    expect((await one.send('GET', '/api/account')).status).toBe(401);
    expect((await two.send('GET', '/api/account')).status).toBe(200);
    await world.rpc.users.resetUser({ id: person.id });
    expect((await two.send('GET', '/api/account')).status).toBe(401);
  });

  test('the name that a request calls us by is believed nowhere it counts', async () => {
    const victim = await world.signIn(world.stranger);
    const { hostname, port } = new URL(world.url);
    const ask = (method: string, path: string, headers: Record<string, string>) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const sent = request(
          { hostname, port, method, path, headers: { Cookie: victim.cookie, ...headers } },
          (answer) => {
            let text = '';
            answer.setEncoding('utf8').on('data', (part: string) => {
              text += part;
            });
            answer.on('end', () =>
              resolve({ status: answer.statusCode ?? 0, text: JSON.stringify(answer.headers) + text }),
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
