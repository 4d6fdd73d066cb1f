import { useAccount } from '../../api/account.ts';
import { fieldError } from '../../api/client.ts';
import { TextField } from '../../ui/field.tsx';

/** Field that confirms the user's identity: a two-factor code if enabled, otherwise the password. */
export function ProofField({ error }: { readonly error: unknown }) {
  const { user } = useAccount();
  return user.has_second_factor ? (
    <TextField
      label="Authenticator code or recovery code"
      name="code"
      autoComplete="one-time-code"
      className="input-code"
      error={fieldError(error, 'code')}
      required
    />
  ) : (
    <TextField
      label="Current password"
      name="password"
      type="password"
      autoComplete="current-password"
      error={fieldError(error, 'password')}
      required
    />
  );
}

/** Returns the entered values for the request body. */
export function proofOf(element: HTMLFormElement): { password: string; code: string } {
  const form = new FormData(element);
  return { password: String(form.get('password') ?? ''), code: String(form.get('code') ?? '') };
}

/** Fields that show their own errors. */
export const proofFields = ['password', 'code'];
