import type { ButtonHTMLAttributes } from 'react';

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: 'main' | 'danger' | 'plain' | 'normal';
  readonly small?: boolean;
  /** What it has begun is under way: it cannot be pressed again. */
  readonly busy?: boolean;
}

export function Button({ look = 'normal', small = false, busy = false, className = '', type, ...rest }: Props) {
  return (
    <button
      {...rest}
      type={type ?? 'button'}
      className={buttonClass(look, small, className)}
      aria-busy={busy || undefined}
      disabled={busy || rest.disabled}
    />
  );
}

/** For a link that looks like a button. */
export function buttonClass(look: Props['look'] = 'normal', small = false, more = ''): string {
  return ['button', look === 'normal' ? '' : `button-${look}`, small ? 'button-small' : '', more]
    .filter((name) => name !== '')
    .join(' ');
}
