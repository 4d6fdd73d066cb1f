import { type ReactNode, useEffect } from 'react';
import { uiTexts } from '../texts/ui.ts';

/** Header of a page. Also sets the window title. */
export function PageHeader({
  title,
  lead,
  breadcrumbs,
  badge,
  actions,
}: {
  readonly title: string;
  readonly lead?: ReactNode;
  /** Links to the parent pages. */
  readonly breadcrumbs?: readonly ReactNode[];
  readonly badge?: ReactNode;
  readonly actions?: ReactNode;
}) {
  useEffect(() => {
    document.title = uiTexts().documentTitle(title);
  }, [title]);
  return (
    <header className="page-head">
      <div className="titles">
        {breadcrumbs ? (
          <nav aria-label={uiTexts().breadcrumb}>
            <ol className="crumbs">
              {breadcrumbs.map((breadcrumb, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the order is fixed
                <li key={index}>{breadcrumb}</li>
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
  /** No padding around the content. For tables. */
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

/** List of names and values. */
export function DescriptionList({ of }: { readonly of: readonly (readonly [name: string, value: ReactNode])[] }) {
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
