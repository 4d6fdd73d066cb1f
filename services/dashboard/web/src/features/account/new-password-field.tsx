import { TextField } from '../../ui/field.tsx';

/** Minimum length of passwords in services/auth/src/password/password.ts. */
const minLength = 12;

/** Input named "password" for a new password. */
export function NewPasswordField({ label, error }: { readonly label: string; readonly error: string | undefined }) {
  return (
    <TextField
      label={label}
      name="password"
      type="password"
      autoComplete="new-password"
      hint={`At least ${minLength} characters.`}
      minLength={minLength}
      error={error}
      required
    />
  );
}
