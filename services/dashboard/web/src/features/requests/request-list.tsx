import type { Request } from '@rms/api';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { cursorOf, type Tenant, useTenant } from '../../api/tenant.ts';
import { withoutEmpty } from '../../search.ts';
import { durationText } from '../../texts/measures.ts';
import { plural } from '../../texts/numbers.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import type { RequestFilter } from '../request-links/requests-link.tsx';
import { requestLogText } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { useMemberEmails } from '../team/member-queries.ts';
import { RequestFilters, useKeyNames } from './request-filters.tsx';
import { useRequests } from './request-queries.ts';

const from = '/w/$workspace/$environment/requests';

/** The request log with its filters, newest first. */
export function RequestList() {
  const tenant = useTenant();
  const { id: _, live, ...filter } = useSearch({ from });
  const navigate = useNavigate({ from });
  const isLive = live === '1' && !filter.cursor;
  const { data, error } = useRequests(filter, isLive);
  const keys = useKeyNames();
  const emails = useMemberEmails();
  const set = (changes: RequestFilter & { readonly live?: string }) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, cursor: '', ...changes }), replace: true });
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <RequestFilters of={{ ...filter, ...(live ? { live } : {}) }} onSet={set} />
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading label="Loading requests" rows={12} />}
        {data?.data.length === 0 ? <NoRequests isFiltered={isFiltered} hasNext={data.links.next !== null} /> : null}
        {data && data.data.length > 0 ? (
          <Table
            label="Requests"
            rows={data.data}
            keyOf={(request) => `${request.request_id} ${request.started_at}`}
            columns={columnsOf(tenant, { keys, emails })}
          />
        ) : null}
        {data && data.meta.left_out > 0 ? (
          <div className="table-foot">
            {plural(data.meta.left_out, { one: '# more request was', other: '# more requests were' })} only counted,
            mostly with 401, 403 or 429.
          </div>
        ) : null}
        {data ? <Pager next={cursorOf(data.links.next)} previous={cursorOf(data.links.prev)} /> : null}
      </Card>
    </>
  );
}

/** Names of keys by ID, and email addresses of users by actor. */
interface Names {
  readonly keys: ReadonlyMap<string, string>;
  readonly emails: ReadonlyMap<string, string>;
}

function columnsOf(tenant: Tenant, { keys, emails }: Names): Column<Request>[] {
  return [
    { title: 'Time', cell: ({ started_at: at }) => <Time at={at} /> },
    {
      title: 'Request',
      cell: ({ request_id: id, method, path, route }) => (
        <Link to="/w/$workspace/$environment/requests" params={tenant} search={{ id }} className="main-link break">
          {method} {path ?? route ?? '(unknown path)'}
        </Link>
      ),
    },
    { title: 'Status', cell: (request) => <Outcome of={request} /> },
    {
      title: 'API key or user',
      cell: ({ api_key_id: key, user_id: user }) => (
        <span className="break">
          {user ? (emails.get(`user:${user}`) ?? user) : key ? (keys.get(key) ?? key) : 'unknown'}
        </span>
      ),
    },
    { title: 'IP address', cell: ({ client_ip: ip }) => <span className="mono break">{ip ?? ''}</span> },
    { title: 'Duration', number: true, cell: ({ duration_ms: ms }) => durationText(ms / 1000) },
  ];
}

/** Status and error code of the response. */
function Outcome({ of: { status, error_code: code } }: { readonly of: Request }) {
  if (status === null) return <Badge tone="warn">Disconnected</Badge>;
  const tone = status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good';
  return (
    <span className="row">
      <Badge tone={tone}>{status}</Badge>
      {code ? <code className="small break">{code}</code> : null}
    </span>
  );
}

/** Explains an empty list. `hasNext`: further pages may have matches, because a page reads a limited number of rows. */
function NoRequests({ isFiltered, hasNext }: { readonly isFiltered: boolean; readonly hasNext: boolean }) {
  const { data: limits } = useLimits();
  if (hasNext || isFiltered) {
    return (
      <Empty icon="requests" title="No matching requests">
        {hasNext
          ? 'No request on this page matches. Open the next page, or change the filters.'
          : 'Change the filters.'}
      </Empty>
    );
  }
  return (
    <Empty icon="requests" title="No requests yet">
      {limits ? `Requests with an API key appear here within seconds. Recorded: ${requestLogText(limits)}.` : null}
    </Empty>
  );
}
