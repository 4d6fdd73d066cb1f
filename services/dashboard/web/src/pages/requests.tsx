import { useQueries } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { DeliveryDocument, FullDeliveryDocument } from '../../../src/documents/delivery.ts';
import { call } from '../api/client.ts';
import { tenantPath, useTenant, useTenantQuery } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { answerText } from './delivery-state.tsx';

const from = '/w/$workspace/$environment/requests';

interface Step {
  readonly at: string;
  readonly key: string;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
  readonly delivery: string;
}

/** What one request caused: its events, their deliveries and attempts on one line of time. */
export function RequestsPage() {
  const { id } = useSearch({ from });
  const navigate = useNavigate({ from });
  return (
    <>
      <PageHead
        title="Requests"
        lead="What a request caused, by the X-Request-ID that is in its answer, in logs and in deliveries."
      />
      <Card>
        <form
          className="row"
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
            className="input-code"
            required
          />
          <Button type="submit" look="main">
            Search
          </Button>
        </form>
      </Card>
      {id ? <TimeLine id={id} /> : null}
    </>
  );
}

function TimeLine({ id }: { readonly id: string }) {
  const tenant = useTenant();
  const { data, error } = useTenantQuery<{ data: readonly DeliveryDocument[] }>('/deliveries', {
    search: { request: id },
  });
  const details = useQueries({
    queries: (data?.data ?? []).map(({ id: delivery }) => ({
      queryKey: ['tenant', tenant.workspace, tenant.environment, `/deliveries/${delivery}`, {}],
      queryFn: () => call<FullDeliveryDocument>(tenantPath(tenant, `/deliveries/${delivery}`)),
    })),
  });
  const steps = details
    .flatMap(({ data: delivery }) => (delivery ? stepsOf(delivery) : []))
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return (
    <Card title="Time line">
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading what="the time line" />}
      {data?.data.length === 0 ? (
        <Empty icon="requests" title="Nothing is known of this request here">
          It changed nothing that a webhook wanted to hear of, or it was sent to the other environment, or it is older
          than the log is kept.
        </Empty>
      ) : null}
      <ol className="timeline">
        {steps.map((step) => (
          <li key={step.key} data-tone={step.tone}>
            <Time at={step.at} />
            <Link to="/w/$workspace/$environment/deliveries/$id" params={{ ...tenant, id: step.delivery }}>
              {step.text}
            </Link>
          </li>
        ))}
      </ol>
    </Card>
  );
}

function stepsOf(delivery: FullDeliveryDocument): Step[] {
  const { id, event_type: type, webhook_id: webhook } = delivery;
  const made: Step = {
    at: delivery.created_at ?? '',
    key: id,
    tone: 'plain',
    text: `${type} for ${webhook}${delivery.status === 'skipped' ? ': skipped, the webhook was disabled' : ''}`,
    delivery: id,
  };
  const attempts = delivery.all_attempts.map(
    (attempt): Step => ({
      at: attempt.started_at ?? '',
      key: `${id} ${attempt.number} ${attempt.started_at}`,
      tone: attempt.status_code === 200 && !attempt.error ? 'good' : 'bad',
      text: `attempt ${attempt.number} to ${webhook}: ${answerText(attempt)} in ${attempt.duration_ms} ms`,
      delivery: id,
    }),
  );
  return [made, ...attempts];
}
