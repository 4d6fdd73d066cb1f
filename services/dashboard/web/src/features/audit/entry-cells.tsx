import type { AuditEntry } from '@rms/api';
import { changedValueText } from '@rms/base/audit-change';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTenant } from '../../api/tenant.ts';
import type { ListedEntry } from './audit-queries.ts';

/** Changes of an entry that are shown without a click. */
const shownChanges = 5;

/** Action, and the change's environment. */
export function ActionCell({ entry }: { readonly entry: AuditEntry }) {
  return (
    <span>
      <code>{entry.action}</code> <span className="soft small">{entry.environment ?? 'both environments'}</span>
    </span>
  );
}

/** Name of the actor with its ID and address. */
export function ActorCell({ entry, name }: { readonly entry: AuditEntry; readonly name: string | undefined }) {
  return (
    <span className="break wide">
      <Named name={entry.actor_name ?? name} id={entry.actor} />
      {entry.client_ip ? <span className="soft small"> from {entry.client_ip}</span> : null}
    </span>
  );
}

/** Name of the target with its ID, and a link if the target exists. */
export function TargetCell({ entry }: { readonly entry: ListedEntry }) {
  const named = <Named name={entry.target_name ?? undefined} id={entry.target_id} />;
  return <span className="break wide">{entry.target_exists ? <ToTarget entry={entry}>{named}</ToTarget> : named}</span>;
}

/** Changed fields with the value before and after, and further facts on request. */
export function ChangesCell({ entry }: { readonly entry: AuditEntry }) {
  const { changes, details } = entry;
  const list = (
    <ul className="changes">
      {changes.map(({ field, before, after }) => (
        <li key={field} className="break">
          <code>{field}</code> {changedValueText(before, after)}
        </li>
      ))}
    </ul>
  );
  return (
    <>
      {changes.length > shownChanges ? (
        <details>
          <summary>{changes.length} fields</summary>
          {list}
        </details>
      ) : changes.length > 0 ? (
        list
      ) : null}
      {Object.keys(details).length === 0 ? null : (
        <details>
          <summary>Details</summary>
          <code className="break">{JSON.stringify(details)}</code>
        </details>
      )}
    </>
  );
}

function Named({ name, id }: { readonly name: string | undefined; readonly id: string }) {
  if (!name || name === id) return <code>{id}</code>;
  return (
    <>
      {name} <code className="soft small">{id}</code>
    </>
  );
}

function ToTarget({ entry, children }: { readonly entry: AuditEntry; readonly children: ReactNode }) {
  const { target_id: id, environment } = entry;
  const tenant = useTenant();
  const params = { ...tenant, environment: environment ?? tenant.environment };
  switch (id.slice(0, id.indexOf('_'))) {
    case 'key':
      return (
        <Link to="/w/$workspace/$environment/settings/keys/$id" params={{ ...params, id }}>
          {children}
        </Link>
      );
    case 'wh':
      return (
        <Link to="/w/$workspace/$environment/webhooks/$id" params={{ ...params, id }}>
          {children}
        </Link>
      );
    case 'res':
      return (
        <Link to="/w/$workspace/$environment/resources/$id" params={{ ...params, id }}>
          {children}
        </Link>
      );
    default:
      return children;
  }
}
