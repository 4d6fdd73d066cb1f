import type { Event } from '@rms/api';
import { Link } from '@tanstack/react-router';
import { useMay, useTenant } from '../../api/tenant.ts';

/** Pages by the first part of the event type. */
const pages = {
  resource: ['/w/$workspace/$environment/resources/$id', 'resources:read'],
  webhook: ['/w/$workspace/$environment/webhooks/$id', 'webhooks:read'],
  api_key: ['/w/$workspace/$environment/settings/keys/$id', 'keys:read'],
  delivery: ['/w/$workspace/$environment/deliveries/$id', 'deliveries:read'],
} as const;

/** ID of the object that an event is about, linked to its page if it has one that the user can access. */
export function EventSubject({ of: { type, data } }: { readonly of: Pick<Event, 'type' | 'data'> }) {
  const tenant = useTenant();
  const [to, permission] = pages[type.split('.')[0] as keyof typeof pages] ?? [];
  const mayRead = useMay(permission ?? 'resources:read');
  if (data === null) return <span className="soft small">erased</span>;
  const { id } = data.object;
  const code = <code className="break">{id}</code>;
  if (!to || !mayRead) return code;
  return (
    <Link to={to} params={{ ...tenant, id }}>
      {code}
    </Link>
  );
}
