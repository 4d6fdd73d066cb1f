import { useAccount } from '../api/account.ts';
import { aboutField } from '../api/client.ts';
import { TextField } from '../ui/field.tsx';

/** Asks once more who it is: for the code of who has a second factor, else for the password. */
export function ProofField({ error }: { readonly error: unknown }) {
  const { user } = useAccount();
  return user.has_second_factor ? (
    <TextField
      label="Code of your authenticator, or a recovery code"
      name="code"
      autoComplete="one-time-code"
      className="input-code"
      wrong={aboutField(error, 'code')}
      required
    />
  ) : (
    <TextField
      label="Your password"
      name="password"
      type="password"
      autoComplete="current-password"
      wrong={aboutField(error, 'password')}
      required
    />
  );
}

/** What has been typed there, for the body of the request. */
export function proofOf(form: HTMLFormElement): { password: string; code: string } {
  const given = new FormData(form);
  return { password: String(given.get('password') ?? ''), code: String(given.get('code') ?? '') };
}

/** Fields that tell by themselves what is wrong with them. */
export const proofFields = ['password', 'code'];
