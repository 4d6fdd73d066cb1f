import type { UsageDocument } from '../../../../src/documents/usage.ts';
import { Time } from '../../ui/time.tsx';
import { RequestsLink } from '../request-links/requests-link.tsx';

const count = (value: number) => Math.round(value).toLocaleString();

/** Usage of this month's quota. */
export function Quota({ of: { used, quota, ends_at: endsAt } }: { readonly of: UsageDocument['month'] }) {
  return (
    <>
      <p className="soft small">Quota used this month</p>
      <p className="value">
        {quota ? `${Math.min(999, (used / quota) * 100).toFixed(used / quota < 0.1 ? 2 : 0)} %` : count(used)}
      </p>
      {quota ? (
        <>
          <progress className="progress" aria-label="Quota used" value={Math.min(used, quota)} max={quota} />
          <p className="soft small">
            {count(used)} of {count(quota)}, until <Time at={endsAt} />
          </p>
        </>
      ) : (
        <p className="soft small">{quota === 0 ? 'requests, no quota' : 'requests so far'}</p>
      )}
      <RequestsLink of={{}}>View requests</RequestsLink>
    </>
  );
}
