import { timeOf } from '@rms/api/times';
import { Command } from 'commander';
import { withServices } from '../connect.ts';
import { fields, print, table } from '../print.ts';
import { addUser, userRef } from '../user.ts';
import { membershipDocument, userDocument } from '../users.ts';

export function usersShowCommand(): Command {
  return addUser(new Command('show'))
    .description('show a user, their workspaces, and the identities with which they sign in')
    .action((argument: string | undefined, options: { email?: string; json?: boolean }, command: Command) => {
      const ref = userRef(argument, options, command);
      return withServices(['users'], async (services) => {
        const { user, memberships, identities } = await services.users.getUser(ref);
        if (!user) return;
        const document = {
          ...userDocument(user),
          workspaces: memberships.map(membershipDocument),
          identities: identities.map(({ issuer, subject, linkTime, email, clientAddress }) => ({
            ...{ issuer, subject, linked_at: timeOf(linkTime), email: email || null, address: clientAddress || null },
          })),
        };
        print(options, document, () =>
          [
            fields([
              ['ID', document.id],
              ['Email', document.email],
              ['Name', document.name ?? ''],
              ['Created', document.created_at ?? ''],
              ['Last sign-in', document.last_sign_in_at ?? 'never'],
              ['Second factor', document.second_factor ? 'on' : 'off'],
              ['State', document.disabled_at ? `disabled ${document.disabled_at}` : 'active'],
              ['Workspaces', document.workspaces.map(({ id, name, role }) => `${role} of ${name} (${id})`).join(', ')],
            ]),
            '',
            document.identities.length === 0
              ? 'No linked identities.'
              : table(
                  ['ISSUER', 'SUBJECT', 'LINKED', 'LINKED BY', 'IP ADDRESS'],
                  document.identities.map((one) => [
                    ...[one.issuer, one.subject, one.linked_at ?? 'unknown'],
                    ...[one.email ?? 'unknown', one.address ?? 'unknown'],
                  ]),
                ),
          ].join('\n'),
        );
      });
    });
}
