import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { waitUntil } from '@rms/testkit';
import { from, newAddress, newEmail, startPeople } from './people-support.ts';

describe('Housekeeping of what is about people', () => {
  test('what has run out goes, what has not stays', async () => {
    const people = await startPeople();
    try {
      const { db } = people;
      const ann = await people.person();
      const { workspaceId } = ann;
      const ago = (table: string, column: string, interval: string) =>
        db.query(`update auth.${table} set ${column} = ${column} - interval '${interval}'`);
      const fill = async () => {
        await people.tryPassword(ann.email, 'wrong password');
        await people.passwords.requestPasswordReset({ email: ann.email }, from(newAddress()));
        await people.invitations.createInvitation({ workspaceId, email: newEmail(), role: Role.VIEWER });
      };
      const counts = async () => {
        const { rows } = await db.query(
          `select (select count(*)::int from auth.throttles) as throttles,
                  (select count(*)::int from auth.password_resets) as resets,
                  (select count(*)::int from auth.mail_requests) as mails,
                  (select count(*)::int from auth.invitations) as invitations,
                  (select count(*)::int from auth.known_networks) as networks`,
        );
        return rows[0];
      };
      await fill();
      await ago('throttles', 'arrival_at', '1 day');
      await ago('password_resets', 'expires_at', '1 day');
      await ago('mail_requests', 'expires_at', '30 days');
      await ago('invitations', 'expires_at', '38 days');
      await db.query(
        `insert into auth.known_networks (user_id, network, last_sign_in_at)
         select $1, '192.0.2.' || n, now() - n * interval '4 days' from generate_series(1, 30) as n`,
        [ann.id],
      );
      await fill();
      expect(await counts()).toMatchObject({ resets: 2, mails: 4, invitations: 2, networks: 30 });

      // It begins its work when it starts.
      const second = await startPeople({ database: people.database });
      try {
        await waitUntil(async () => (await counts()).networks === 20, { what: 'the networks to be trimmed' });
        await waitUntil(async () => (await counts()).mails === 2, { what: 'the mails to be trimmed' });
        expect(await counts()).toMatchObject({ resets: 1, mails: 2, invitations: 1, networks: 20 });
        const { rows } = await db.query("select from auth.throttles where arrival_at < now() - interval '1 hour'");
        expect(rows).toEqual([]);
        expect((await counts()).throttles).toBeGreaterThan(0);
      } finally {
        await second.stop();
      }
    } finally {
      await people.stop();
    }
  });
});
