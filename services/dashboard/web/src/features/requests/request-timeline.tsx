import { Link } from '@tanstack/react-router';
import { ApiError } from '../../api/client.ts';
import { useTenant } from '../../api/tenant.ts';
import { durationText } from '../../texts/measures.ts';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { unknownRequestText } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { useRequest } from './request-queries.ts';

/** Card with a request's timeline. */
export function RequestTimeline({ id }: { readonly id: string }) {
  const tenant = useTenant();
  const { data, error } = useRequest(id);
  const { data: limits } = useLimits();
  const first = data?.steps[0]?.at ?? '';
  const isUnknown = !data && error instanceof ApiError && error.code === 'not_found';
  return (
    <Card
      title="Timeline"
      about={first ? <Time at={first} /> : null}
      actions={data?.trace_ids.map((trace) => {
        const url = limits?.trace_url?.replace('{trace_id}', trace);
        return url ? (
          <a key={trace} href={url} target="_blank" rel="noreferrer" className="small">
            Open trace
          </a>
        ) : (
          <code key={trace} className="break small">
            trace {trace}
          </code>
        );
      })}
    >
      <ErrorNote error={isUnknown ? null : error} />
      {data ? null : error ? null : <Loading label="Loading the timeline" />}
      {isUnknown ? (
        <Empty icon="requests" title="No record of this request">
          {error.message} {unknownRequestText(limits)}
        </Empty>
      ) : null}
      <ol className="timeline">
        {data?.steps.map((step) => (
          <li key={`${step.at} ${step.text}`} data-outcome={step.outcome}>
            <span className="timeline-at">
              <Time at={step.at} toMs />
              <span className="soft small">{sinceText(first, step.at)}</span>
            </span>
            {step.delivery_id ? (
              <Link
                to="/w/$workspace/$environment/deliveries/$id"
                params={{ ...tenant, id: step.delivery_id }}
                className="break"
              >
                {step.text}
              </Link>
            ) : (
              <span className="break">{step.text}</span>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** Formats the time since the first step: "+12 ms". */
function sinceText(first: string, at: string): string {
  const ms = Date.parse(at) - Date.parse(first);
  return Number.isFinite(ms) && ms > 0 ? `+${durationText(ms / 1000)}` : '';
}
