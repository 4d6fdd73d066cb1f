import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { RequestDocument } from '../../../src/documents/request.ts';
import { useTenant, useTenantQuery } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { spanText, Time } from '../ui/time.tsx';

const from = '/w/$workspace/$environment/requests';
const everyMs = 3_000;

/** What one request was answered and caused, on one line of time. */
export function RequestsPage() {
  const { id } = useSearch({ from });
  const navigate = useNavigate({ from });
  return (
    <>
      <PageHead
        title="Requests"
        lead="What a request was answered and caused, by the X-Request-ID that is in its answer, in logs and in deliveries."
      />
      <Card>
        <form
          className="row search"
          onSubmit={(event) => {
            event.preventDefault();
            const sent = String(new FormData(event.currentTarget).get('id')).trim();
            void navigate({ search: sent === '' ? {} : { id: sent } });
          }}
        >
          <TextField
            key={id}
            label="Request id"
            name="id"
            defaultValue={id}
            type="search"
            placeholder="req_…"
            maxLength={128}
            className="input-code"
            required
          />
          <Button type="submit" look="main">
            Search
          </Button>
        </form>
      </Card>
      {id ? (
        <TimeLine id={id} />
      ) : (
        <Card>
          <Empty icon="requests" title="Which request?">
            Each answer of the API has its id in the header X-Request-ID. Errors show it, and each delivery links here.
          </Empty>
        </Card>
      )}
    </>
  );
}

function TimeLine({ id }: { readonly id: string }) {
  const tenant = useTenant();
  const { data, error } = useTenantQuery<RequestDocument>('/requests', { search: { id }, everyMs });
  const first = data?.steps[0]?.at ?? '';
  return (
    <Card
      title="Time line"
      about={first ? <Time at={first} /> : null}
      actions={data?.traces.map(({ id: trace, url }) =>
        url ? (
          <a key={trace} href={url} target="_blank" rel="noreferrer" className="small">
            Open the trace
          </a>
        ) : (
          <code key={trace} className="break small">
            trace {trace}
          </code>
        ),
      )}
    >
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading what="the time line" />}
      {data?.steps.length === 0 ? (
        <Empty icon="requests" title="Nothing is known of this request here">
          It was sent to the other environment, or without a key of this workspace, or it is older than requests are
          kept.
        </Empty>
      ) : null}
      <ol className="timeline">
        {data?.steps.map((step) => (
          <li key={`${step.at} ${step.what}`} data-tone={step.tone}>
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
                {step.what}
              </Link>
            ) : (
              <span className="break">{step.what}</span>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** How long after the first step: "+12 ms". */
function sinceText(first: string, at: string): string {
  const ms = Date.parse(at) - Date.parse(first);
  return Number.isFinite(ms) && ms > 0 ? `+${spanText(ms / 1000)}` : '';
}
