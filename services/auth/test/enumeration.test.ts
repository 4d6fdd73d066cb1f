import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { as, from, newAddress, newEmail, type Person, startPeople, type TestPeople } from './people-support.ts';

/** What the service does by itself, whoever calls; none of the calls here deletes anything. */
const ofWorkers = /^select 1$|^delete |_partitions\(|auth\.pending_marks/;

/** Time is not measured: what is done is counted, statement by statement and hash by hash. */
describe('Whether an address has an account', () => {
  const work: string[] = [];
  let people: TestPeople;
  beforeAll(async () => {
    people = await startPeople({ onWork: (what) => void work.push(what) });
  });
  afterAll(() => people?.stop());

  /** What a call answers, and what is done for it: of statements the text, without what is in it. */
  const trace = async (call: () => Promise<unknown>) => {
    const before = work.length;
    const answer = await call().catch((error) => ({
      code: error.code,
      message: error.message,
      details: error.details,
    }));
    const done = work
      .slice(before)
      .map((what) => what.replaceAll(/\s+/g, ' ').trim())
      .filter((what) => !ofWorkers.test(what));
    return { answer: plain(answer), done };
  };
  const plain = (answer: unknown) => JSON.parse(JSON.stringify(answer, (_, v) => (typeof v === 'bigint' ? `${v}` : v)));
  const hashesOf = ({ done }: { done: string[] }) => done.filter((what) => what === 'a hash').length;

  const signIn = (email: string) => () =>
    people.signIn.verifyPassword({ email, password: 'wrong password' }, from(newAddress()));
  const askForReset = (email: string) => () => people.passwords.requestPasswordReset({ email }, from(newAddress()));

  /** Somebody whose account has no password. */
  const withoutPassword = async (): Promise<Person> => {
    const person = await people.person();
    await people.db.query('update auth.users set password_hash = null where id = $1', [person.id]);
    return person;
  };
  const disabled = async (): Promise<Person> => {
    const person = await people.person();
    await people.db.query('update auth.users set disabled_at = now() where id = $1', [person.id]);
    return person;
  };
  const withoutWorkspace = async (): Promise<Person> => {
    const person = await people.person({ role: Role.VIEWER });
    await people.members.removeMember({ workspaceId: person.workspaceId, userId: person.id });
    return person;
  };

  test('does not show when signing in fails: one hash, the same statements, the same answer', async () => {
    const nobody = await trace(signIn(newEmail()));
    expect(hashesOf(nobody)).toBe(1);
    for (const make of [() => people.person(), withoutPassword, withoutWorkspace, disabled]) {
      const { email } = await make();
      expect(await trace(signIn(email))).toEqual(nobody);
    }
  });

  test('does not show while attempts are held back', async () => {
    const heldBack = async (email: string) => {
      const traces = [];
      for (let i = 0; i < 12; i += 1) traces.push(await trace(signIn(email)));
      return traces;
    };
    const known = await heldBack((await people.person()).email);
    expect(known.map(hashesOf)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
    expect(await heldBack(newEmail())).toEqual(known);
  });

  test('does not show when a new password is asked for', async () => {
    const nobody = await trace(askForReset(newEmail()));
    expect(nobody.done.length).toBeGreaterThan(3);
    for (const make of [() => people.person(), withoutPassword, withoutWorkspace, disabled]) {
      const { email } = await make();
      expect(await trace(askForReset(email))).toEqual(nobody);
    }
  });

  test('elsewhere does not show to who invites it', async () => {
    const host = await people.person();
    const invite = (email: string) => async () => {
      const request = { workspaceId: host.workspaceId, email, role: Role.VIEWER };
      const { invitation } = await people.invitations.createInvitation(request, as(host));
      return Object.keys(invitation ?? {}).sort();
    };
    const nobody = await trace(invite(newEmail()));
    expect(await trace(invite((await people.person()).email))).toEqual(nobody);
  });
});

describe('Tokens of links', () => {
  test('an address that brings many of which nothing is behind has to wait; the right ones cost nothing', async () => {
    const people = await startPeople();
    try {
      const host = await people.person();
      const right = async () => {
        const invited = { workspaceId: host.workspaceId, email: newEmail(), role: Role.VIEWER };
        await people.invitations.createInvitation(invited, as(host));
        const [mail] = await people.takeMails();
        return mail?.content.case === 'invitation' ? mail.content.value.token : '';
      };
      const address = newAddress();
      const find = (token: string, at = address) => people.invitations.findInvitation({ token }, from(at));
      const token = await right();
      for (let i = 0; i < 60; i += 1) await find(token);
      const guesses = [
        () => find('guessed'),
        () => people.passwords.resetPassword({ token: 'guessed', password: 'a password of twelve' }, from(address)),
        () => people.users.confirmEmailChange({ token: 'guessed' }, from(address)),
        () =>
          people.invitations.acceptInvitation(
            { token: 'guessed', as: { case: 'newUser', value: { name: '', password: 'a password of twelve' } } },
            from(address),
          ),
      ];
      // At once: each six seconds lets one more in.
      const codes = await Promise.all(
        Array.from({ length: 14 }, () => guesses.map((guess) => guess().then(String, (error) => error.code))).flat(),
      );
      const count = (code: string) => codes.filter((one) => one === code).length;
      expect([count('not_found'), count('rate_limit_exceeded')]).toEqual([50, 6]);
      // However long they have taken.
      await people.db.query(`update auth.throttles set arrival_at = arrival_at + interval '1 minute'`);
      await expect(find(token)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
      expect((await find(token, newAddress())).workspaceName).toBe('Test');
    } finally {
      await people.stop();
    }
  });
});
