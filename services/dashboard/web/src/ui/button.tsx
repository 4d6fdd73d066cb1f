import type { ButtonHTMLAttributes } from 'react';

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly variant?: 'main' | 'danger' | 'plain' | 'normal';
  readonly small?: boolean;
  /** The action is in progress; the button is disabled. */
  readonly busy?: boolean;
}

export function Button({ variant = 'normal', small = false, busy = false, className = '', type, ...rest }: Props) {
  return (
    <button
      {...rest}
      type={type ?? 'button'}
      className={buttonClass(variant, small, className)}
      aria-busy={busy || undefined}
      disabled={busy || rest.disabled}
    />
  );
}

/** Returns the class names for a link that looks like a button. */
export function buttonClass(variant: Props['variant'] = 'normal', small = false, more = ''): string {
  return ['button', variant === 'normal' ? '' : `button-${variant}`, small ? 'button-small' : '', more]
    .filter((name) => name !== '')
    .join(' ');
}
