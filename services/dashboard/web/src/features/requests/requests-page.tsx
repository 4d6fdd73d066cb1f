import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useTenant } from '../../api/tenant.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { RequestList } from './request-list.tsx';
import { RequestTimeline } from './request-timeline.tsx';

const from = '/w/$workspace/$environment/requests';

/** Page with the request log, or a request's timeline. */
export function RequestsPage() {
  const { id } = useSearch({ from });
  const navigate = useNavigate({ from });
  const tenant = useTenant();
  const list = (
    <Link key="requests" to={from} params={tenant} search={{}}>
      Requests
    </Link>
  );
  return (
    <>
      {id ? (
        <PageHeader
          title="Request"
          breadcrumbs={[list]}
          lead="Response, events and deliveries of a request. Its X-Request-ID is in the response, in logs and in deliveries."
        />
      ) : (
        <PageHeader
          title="Requests"
          lead="API requests, and changes that users made in the dashboard. Open a request to see its events and deliveries."
        />
      )}
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
            label="Request ID"
            name="id"
            defaultValue={id}
            type="search"
            placeholder="req_…"
            maxLength={128}
            className="input-code"
            required
          />
          <Button type="submit" variant="main">
            Search
          </Button>
        </form>
      </Card>
      {id ? <RequestTimeline id={id} /> : <RequestList />}
    </>
  );
}
