import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { uiTexts } from '../texts/ui.ts';
import { Button, buttonClass } from './button.tsx';
import { Icon, type IconName } from './icons.tsx';

export function Note({
  tone = 'info',
  children,
}: {
  readonly tone?: 'info' | 'good' | 'bad' | 'warn';
  readonly children: ReactNode;
}) {
  return (
    <div className="note" data-tone={tone}>
      {children}
    </div>
  );
}

/** Error message with the request ID. */
export function ErrorNote({ error, fields = [] }: { readonly error: unknown; readonly fields?: readonly string[] }) {
  if (!error) return null;
  const known = error instanceof ApiError ? error : undefined;
  // Messages shown next to their fields are not repeated.
  const others = known?.details.filter(({ field }) => !fields.includes(field)) ?? [];
  return (
    <div className="note" data-tone="bad" role="alert">
      <p>{known?.message ?? uiTexts().pageError}</p>
      {others.map(({ field, message }) => (
        <p key={field} className="small">
          {field} {message}
        </p>
      ))}
      <Remedy code={known?.code} />
      {known?.requestId ? <p className="small">{uiTexts().requestId(<code>{known.requestId}</code>)}</p> : null}
    </div>
  );
}

/** Button for an error of the session. The input on the page stays, except after a reload. */
function Remedy({ code }: { readonly code: string | undefined }) {
  if (code === 'other_user') {
    return (
      <Button small onClick={() => location.reload()}>
        {uiTexts().reloadPage}
      </Button>
    );
  }
  if (code !== 'not_signed_in' || location.pathname === '/sign-in') return null;
  return (
    <p>
      <a href="/sign-in" target="_blank" rel="noreferrer" className={buttonClass('normal', true)}>
        {uiTexts().signIn}
      </a>{' '}
      {uiTexts().thenRepeat}
    </p>
  );
}

/** Empty state with the next step. */
export function Empty({
  icon,
  title,
  children,
  action,
  isPage = false,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
  /** The empty state is the whole page. */
  readonly isPage?: boolean;
}) {
  return (
    <div className="empty">
      <Icon name={icon} />
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p>{children}</p>
      {action}
    </div>
  );
}

/** Placeholder with the expected content's height: lines of text, or table rows. */
export function Loading({ label, rows = 0 }: { readonly label: string; readonly rows?: number }) {
  return (
    <div className={rows > 0 ? 'loading loading-rows' : 'loading'} role="status">
      {Array.from({ length: rows || 3 }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: identical placeholders
        <span key={index} aria-hidden="true" />
      ))}
      <p className="visually-hidden">{label}</p>
    </div>
  );
}
