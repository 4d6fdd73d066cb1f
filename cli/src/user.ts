import type { Command } from 'commander';

/** Adds the user to a command: an argument, or --email as in `users create`. */
export function addUser(command: Command): Command {
  return command
    .argument('[user]', 'email address or ID')
    .option('--email <address>', 'email address of the user, instead of the argument');
}

/** Returns a command's user. Exits with a usage error unless exactly one of argument and --email is given. */
export function userRef(
  argument: string | undefined,
  { email }: { readonly email?: string },
  command: Command,
): { email: string } | { id: string } {
  if ((argument === undefined) === (email === undefined)) {
    return command.error(`error: give the user once: an email address or ID, or --email`);
  }
  const user = argument ?? email ?? '';
  return email !== undefined || user.includes('@') ? { email: user } : { id: user };
}
