import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import type { Endpoint } from '../../../services/dashboard/src/routes/endpoint.ts';
import { endpoints } from '../../../services/dashboard/src/routes/endpoints.ts';
import type { Answer, HttpBrowser } from './browser.ts';
import { type Call, entries } from './entries.ts';
import { type Named, namesOfNothing } from './named.ts';
import { isChange, isTenant, known, nameOf, sendCall, type World } from './world.ts';

/** Nobody reaches what is of another workspace, or of the other environment, by whatever they name. */
export function isolationSuite(given: () => World): void {
  let world: World;
  let nothing: Named;
  beforeAll(() => {
    world = given();
    nothing = namesOfNothing(world.named);
  });

  test('every endpoint has an entry here', () => {
    expect(endpoints.map(nameOf).sort()).toEqual(Object.keys(entries).sort());
  });

  /** A refusal may name what it was asked for, and nothing else. */
  const revealsNothing = ({ text }: Answer, call: Call) => {
    const asked = JSON.stringify(call);
    expect(world.marks.filter((mark) => text.includes(mark) && !asked.includes(mark))).toEqual([]);
  };
  /** An answer without what differs from call to call. */
  const formOf = ({ status, text }: Answer) => [status, masked(text, [world.named, nothing])];

  test.each(known)('%s: what is of somebody else is as what is not there', async (_, endpoint, entry) => {
    const callers = await strangers(entry.keyedBy);
    const before = await world.stateOfOwner();
    for (const [browser, place] of callers) {
      for (const call of entry.calls) {
        const ofOwner = await sendCall(await browser(), endpoint, call(world.named), place);
        const ofNobody = await sendCall(await browser(), endpoint, call(nothing), place);
        revealsNothing(ofOwner, call(world.named));
        expect(formOf(ofOwner)).toEqual(formOf(ofNobody));
        expect(ofOwner.status).toBeLessThan(500);
        if (namesOne(endpoint)) expect(ofOwner.status).toBe(404);
      }
    }
    expect(await world.stateOfOwner()).toEqual(before);
  });

  const tenants = known.filter(([, endpoint]) => isTenant(endpoint));

  test.each(tenants)("%s: another's workspace is as one that is not there", async (_, endpoint, { calls }) => {
    const before = await world.stateOfOwner();
    const stranger = await world.signIn(world.stranger);
    const nobody = await world.signIn(await world.outsider());
    for (const browser of [stranger, nobody]) {
      for (const call of calls) {
        const answers: Answer[] = [];
        for (const workspaceId of [world.workspaceId, 'ws_00000000000000000000000000', '*', '%', "'"]) {
          answers.push(await sendCall(browser, endpoint, call(world.named), { workspaceId }));
        }
        for (const answer of answers) revealsNothing(answer, {});
        expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
        expect(new Set(answers.map((answer) => masked(answer.text, [])))).toHaveProperty('size', 1);
      }
    }
    expect(await world.stateOfOwner()).toEqual(before);
  });

  test('nothing that is read changes anything', async () => {
    const owner = await world.signIn(await world.person(Role.OWNER));
    const before = await world.stateOfOwner();
    for (const [, endpoint, { calls }] of known) {
      if (isChange(endpoint)) continue;
      for (const call of calls) {
        const answer = await sendCall(owner, endpoint, call(world.named), { workspaceId: world.workspaceId });
        expect([nameOf(endpoint), answer.status]).toEqual([nameOf(endpoint), 200]);
      }
    }
    expect(await world.stateOfOwner()).toEqual(before);
  });

  type Stranger = readonly [browser: () => Promise<HttpBrowser>, place?: { workspaceId: string; environment: string }];

  /** Who has no business with what the owner has in the live environment, and where they ask for it. */
  async function strangers(keyedBy: string): Promise<Stranger[]> {
    if (keyedBy === 'nobody') return [[async () => world.anonymous]];
    // Some calls end the session that they come with.
    if (keyedBy === 'person') return [[async () => world.signIn(await world.outsider())]];
    const { workspaceId } = world.stranger;
    const stranger = await world.signIn(world.stranger);
    const ofOther = ['live', 'sandbox'].map(
      (environment): Stranger => [async () => stranger, { workspaceId, environment }],
    );
    if (keyedBy === 'workspace') return ofOther;
    const owner = await world.signIn(await world.person(Role.OWNER));
    return [[async () => owner, { workspaceId: world.workspaceId, environment: 'sandbox' }], ...ofOther];
  }
}

/** Whether its path names something that has to be there; rules everybody has, and events what is deleted as well. */
const namesOne = ({ path }: Endpoint) => /\{id\}(?!\/events)/.test(path) && !path.startsWith('/alerts/rules');

/** Text without ids, times, secrets and what was given. */
function masked(text: string, given: readonly Named[]): string {
  const names = given.flatMap((named) => Object.values(named) as string[]);
  const without = names.reduce((left, name) => left.replaceAll(name, '<named>'), text);
  return (
    without
      // What is random may hold what looks like an id.
      .replaceAll(/"(csrf_token|secret)":"[^"]*"/g, '"$1"')
      .replaceAll(/\b(whsec|sk_live|sk_test|[a-z]{2,6})_[\w-]{8,}…?\w*/g, '<$1>')
      .replaceAll(/(guest|person|nobody)-\w+@/g, '<$1>@')
      .replaceAll(/"hint":"[^"]*"/g, '"hint"')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/"(version|retry_after_seconds|id)":("[\w-]*"|\d+)/g, '"$1"')
  );
}
