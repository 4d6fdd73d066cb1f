import type { Workspace } from '@rms/api';
import { numberText } from '../../texts/numbers.ts';
import { Time } from '../../ui/time.tsx';
import { RequestsLink } from '../request-links/requests-link.tsx';

const count = (value: number) => numberText(Math.round(value));

/** Usage of this month's quota. */
export function Quota({ of: { usage, limits } }: { readonly of: Pick<Workspace, 'usage' | 'limits'> }) {
  const quota = limits.requests_per_month;
  const share = usage && quota ? usage.requests / quota : 0;
  return (
    <>
      <p className="soft small">Quota used this month</p>
      <p className="value">
        {usage === null ? '–' : null}
        {usage && quota ? `${Math.min(999, share * 100).toFixed(share < 0.1 ? 2 : 0)} %` : null}
        {usage && !quota ? count(usage.requests) : null}
      </p>
      {usage === null ? <p className="soft small">usage unknown</p> : null}
      {usage && quota ? (
        <>
          <progress className="progress" aria-label="Quota used" value={Math.min(usage.requests, quota)} max={quota} />
          <p className="soft small">
            {count(usage.requests)} of {count(quota)}, until <Time at={usage.month_end} />
          </p>
        </>
      ) : null}
      {usage && !quota ? <p className="soft small">requests, no quota</p> : null}
      <RequestsLink of={{}}>View requests</RequestsLink>
    </>
  );
}
