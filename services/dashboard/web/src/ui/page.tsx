import { type ReactNode, useEffect } from 'react';

/** What every page begins with; also the title of the window. */
export function PageHead({
  title,
  lead,
  crumbs,
  badge,
  actions,
}: {
  readonly title: string;
  readonly lead?: ReactNode;
  /** Links to what the page is a part of. */
  readonly crumbs?: readonly ReactNode[];
  readonly badge?: ReactNode;
  readonly actions?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · rms`;
  }, [title]);
  return (
    <header className="page-head">
      <div className="titles">
        {crumbs ? (
          <nav aria-label="Part of">
            <ol className="crumbs">
              {crumbs.map((crumb, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: they stay in their places
                <li key={index}>{crumb}</li>
              ))}
            </ol>
          </nav>
        ) : null}
        <div className="row">
          <h1>{title}</h1>
          {badge}
        </div>
        {lead ? <p className="lead">{lead}</p> : null}
      </div>
      {actions ? <div className="row">{actions}</div> : null}
    </header>
  );
}

export function Card({
  title,
  about,
  actions,
  children,
  flush = false,
}: {
  readonly title?: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** Its content reaches to its edges: a table. */
  readonly flush?: boolean;
}) {
  return (
    <section className="card" aria-label={title}>
      {title ? (
        <div className="card-head">
          <h2>{title}</h2>
          {actions ? <div className="row">{actions}</div> : null}
          {about ? <p>{about}</p> : null}
        </div>
      ) : null}
      {flush ? children : <div className="card-body">{children}</div>}
    </section>
  );
}

/** Names and values. */
export function Facts({ of }: { readonly of: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
