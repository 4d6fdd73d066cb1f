import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { perSuite } from '@rms/testkit';
import type { Endpoint } from '../../../services/dashboard/src/routes/endpoint.ts';
import { endpoints } from '../../../services/dashboard/src/routes/endpoints.ts';
import type { BrowserResponse, HttpBrowser } from './browser.ts';
import { type Call, entries } from './entries.ts';
import { type Named, namesOfNothing } from './named.ts';
import { isChange, isTenant, known, nameOf, sendCall, type World } from './world.ts';

/** Tests that no request of a user returns or changes data of another workspace or environment. */
export function isolationSuite(world: World): void {
  const nothing = perSuite(() => namesOfNothing(world.named));

  test('every endpoint has an entry here', () => {
    expect(endpoints.map(nameOf).sort()).toEqual(Object.keys(entries).sort());
  });

  /** Expects that an error contains no data of the owner beyond the request's content. */
  const revealsNothing = ({ text }: BrowserResponse, call: Call) => {
    const requested = JSON.stringify(call);
    expect(world.markers.filter((marker) => text.includes(marker) && !requested.includes(marker))).toEqual([]);
  };
  /** Returns a response without the parts that differ in every response. */
  const formOf = ({ status, text }: BrowserResponse) => [status, masked(text, [world.named, nothing])];

  test.each(known)('%s: objects of another user behave like missing ones', async (_, endpoint, entry) => {
    const callers = await otherCallers(entry.keyedBy);
    const before = await world.stateOfOwner();
    for (const [browser, tenant] of callers) {
      for (const call of entry.calls) {
        const ofOwner = await sendCall(await browser(), endpoint, call(world.named), tenant);
        const ofMissing = await sendCall(await browser(), endpoint, call(nothing), tenant);
        revealsNothing(ofOwner, call(world.named));
        expect(formOf(ofOwner)).toEqual(formOf(ofMissing));
        expect(ofOwner.status).toBeLessThan(500);
        if (namesOne(endpoint)) expect(ofOwner.status).toBe(404);
      }
    }
    expect(await world.stateOfOwner()).toEqual(before);
  });

  const tenants = known.filter(([, endpoint]) => isTenant(endpoint));

  test.each(tenants)('%s: a workspace of another user behaves like a missing one', async (_, endpoint, { calls }) => {
    const before = await world.stateOfOwner();
    const otherOwner = await world.signIn(world.otherOwner);
    const otherViewer = await world.signIn(await world.outsider());
    for (const browser of [otherOwner, otherViewer]) {
      for (const call of calls) {
        const send = (workspaceId: string) => sendCall(browser, endpoint, call(world.named), { workspaceId });
        const responses = [await send(world.workspaceId), await send('ws_00000000000000000000000000')];
        for (const response of responses) revealsNothing(response, {});
        expect(responses.map(({ status }) => status)).toEqual([404, 404]);
        expect(new Set(responses.map((response) => masked(response.text, [])))).toHaveProperty('size', 1);
        // Without the form of an ID. The error may repeat the requested path.
        for (const workspaceId of ['*', '%', "'"]) {
          const response = await send(workspaceId);
          revealsNothing(response, call(world.named));
          expect(response.status).toBe(404);
        }
      }
    }
    expect(await world.stateOfOwner()).toEqual(before);
  });

  test('reading never changes data', async () => {
    const owner = await world.signIn(await world.member(Role.OWNER));
    const before = await world.stateOfOwner();
    for (const [, endpoint, { calls }] of known) {
      if (isChange(endpoint)) continue;
      for (const call of calls) {
        const response = await sendCall(owner, endpoint, call(world.named), { workspaceId: world.workspaceId });
        // A user has no portal session.
        const expected = nameOf(endpoint) === 'GET /api/portal' ? 401 : 200;
        expect([nameOf(endpoint), response.status]).toEqual([nameOf(endpoint), expected]);
      }
    }
    expect(await world.stateOfOwner()).toEqual(before);
  });

  type OtherCaller = readonly [
    browser: () => Promise<HttpBrowser>,
    tenant?: { workspaceId: string; environment: string },
  ];

  /**
   * Returns users without access to the owner's live data, and the workspace and environment that they send requests
   * to.
   */
  async function otherCallers(keyedBy: string): Promise<OtherCaller[]> {
    if (keyedBy === 'none') return [[async () => world.anonymous]];
    // A new session per call, because some calls end the session.
    if (keyedBy === 'user') return [[async () => world.signIn(await world.outsider())]];
    const { workspaceId } = world.otherOwner;
    const otherOwner = await world.signIn(world.otherOwner);
    const ofOther = ['live', 'sandbox'].map(
      (environment): OtherCaller => [async () => otherOwner, { workspaceId, environment }],
    );
    if (keyedBy === 'workspace') return ofOther;
    const owner = await world.signIn(await world.member(Role.OWNER));
    return [[async () => owner, { workspaceId: world.workspaceId, environment: 'sandbox' }], ...ofOther];
  }
}

/**
 * Whether the path contains the id of an object that must exist. Events remain after a deletion, so their paths do not
 * count.
 */
const namesOne = ({ path }: Endpoint) => /\{(?:request_)?id\}(?!\/events)/.test(path);

/** Replaces ids, times, secrets and the given names in a text. */
function masked(text: string, given: readonly Named[]): string {
  const names = given.flatMap((named) => Object.values(named) as string[]);
  const without = names.reduce((left, name) => left.replaceAll(name, '<named>'), text);
  return (
    without
      // Random values can contain substrings that look like ids.
      .replaceAll(/"(csrf_token|secret|token)":"[^"]*"/g, '"$1"')
      .replaceAll(/\b(whsec|sk_live|sk_test|[a-z]{2,6})_[\w-]{8,}…?\w*/g, '<$1>')
      .replaceAll(/(guest|person|nobody)-\w+@/g, '<$1>@')
      .replaceAll(/"hint":"[^"]*"/g, '"hint"')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/"(version|retry_after_seconds|id)":("[\w-]*"|\d+)/g, '"$1"')
  );
}
