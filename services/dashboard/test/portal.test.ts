import { disposable, perSuite } from '@rms/testkit';
import { themeColors } from '../web/src/portal/theme-colors.ts';
import { codeOf, portalToken, startDashboard } from './support.ts';

const host = 'https://app.example.com';
const dashboard = perSuite(() => startDashboard({ PORTAL_FRAME_ANCESTORS: `${host},http://localhost:3000` }));

const framing = async (url: string) => {
  const { headers } = await fetch(url);
  return {
    ancestors: /frame-ancestors [^;]*/.exec(headers.get('content-security-policy') ?? '')?.[0],
    options: headers.get('x-frame-options'),
    resources: headers.get('cross-origin-resource-policy'),
  };
};

test('only the listed origins may frame the portal, and none another page', async () => {
  const framed = {
    ancestors: `frame-ancestors ${host} http://localhost:3000`,
    options: null,
    resources: 'cross-origin',
  };
  const closed = { ancestors: "frame-ancestors 'none'", options: 'DENY', resources: 'same-origin' };
  for (const path of ['/portal', '/portal/w/ws_1/live/webhooks'])
    expect(await framing(dashboard.url + path)).toEqual(framed);
  for (const path of ['/', '/portals', '/w/ws_1/live/webhooks', '/api/portal']) {
    expect(await framing(dashboard.url + path)).toEqual(closed);
  }
  await using other = disposable(await startDashboard());
  expect(await framing(`${other.url}/portal`)).toEqual(closed);
});

test('a link returns the token of its session, which returns the session', async () => {
  const opened = await fetch(`${dashboard.url}/api/portal/open`, {
    method: 'POST',
    headers: { Origin: dashboard.url, 'Content-Type': 'application/json' },
    body: JSON.stringify({ token: 'link' }),
  });
  const { token, ...session } = (await opened.json()) as { token: string };
  expect(token).toBe(portalToken);
  const read = (headers: Record<string, string>) => fetch(`${dashboard.url}/api/portal`, { headers });
  expect(await (await read({ 'X-Portal-Token': token })).json()).toEqual(session);
  expect(session).toMatchObject({
    environment: 'sandbox',
    permissions: ['webhooks:read', 'webhooks:write', 'deliveries:read', 'deliveries:write'],
    return_url: null,
    theme: { mode: 'auto', primary_color: null, logo_url: null },
  });
  for (const headers of [{}, { 'X-Portal-Token': 'x' }])
    expect(await codeOf(await read(headers))).toBe('portal_session_ended');
  expect(dashboard.lines.join('')).not.toContain(token);
});

test('an access log line names the portal session', async () => {
  const before = dashboard.lines.length;
  await fetch(`${dashboard.url}/api/workspaces/ws_own/sandbox/webhooks`, {
    headers: { 'X-Portal-Token': portalToken },
  });
  expect(dashboard.lines.slice(before).join('')).toContain('"portal_session_id":"pts_1"');
});

test.each(['#ffffff', '#000000', '#ffff00', '#4f46e5', '#10131a', '#808080'])(
  'texts in the color %s are readable in light and dark mode',
  (color) => {
    const pairs = Object.entries(themeColors(color)).map(([name, value]): [string, [string, string]] => {
      const [, light = '', dark = ''] = /^light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)$/.exec(value) ?? [];
      return [name, [light, dark]];
    });
    const colors = Object.fromEntries(pairs);
    for (const mode of [0, 1] as const) {
      const of = (name: string) => colors[name]?.[mode] ?? '';
      const ground = mode === 0 ? '#ffffff' : '#10131a';
      expect(contrast(of('--accent-text'), ground)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(of('--accent-text'), of('--accent-ground'))).toBeGreaterThanOrEqual(4.5);
      expect(contrast(of('--on-accent'), of('--accent'))).toBeGreaterThanOrEqual(4.5);
      expect(contrast(of('--accent'), ground)).toBeGreaterThanOrEqual(3);
    }
  },
);

/** Returns the contrast ratio of two colors. */
function contrast(one: string, other: string): number {
  const luminance = (hex: string) => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  const [a, b] = [luminance(one), luminance(other)];
  return Math.max(a, b) / Math.min(a, b);
}
