import type { ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
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

/** What went wrong, with the id of the request for who asks about it. */
export function ErrorNote({ error, fields = [] }: { readonly error: unknown; readonly fields?: readonly string[] }) {
  if (!error) return null;
  const known = error instanceof ApiError ? error : undefined;
  // What is told beside its field is not told again.
  const others = known?.details.filter(({ field }) => !fields.includes(field)) ?? [];
  return (
    <div className="note" data-tone="bad" role="alert">
      <p>{known?.message ?? 'Something went wrong in this page.'}</p>
      {others.map(({ field, message }) => (
        <p key={field} className="small">
          {field} {message}
        </p>
      ))}
      {known?.requestId ? (
        <p className="small">
          Request id <code>{known.requestId}</code>
        </p>
      ) : null}
    </div>
  );
}

/** There is nothing yet; says what to do next. */
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
  /** It is the whole page. */
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

/** Stands where something will be, and is as high: so many lines, or rows of a table. */
export function Loading({ what, rows = 0 }: { readonly what: string; readonly rows?: number }) {
  return (
    <div className={rows > 0 ? 'loading loading-rows' : 'loading'} role="status">
      {Array.from({ length: rows || 3 }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <span key={index} aria-hidden="true" />
      ))}
      <p className="visually-hidden">Loading {what}</p>
    </div>
  );
}
