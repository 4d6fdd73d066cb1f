import { Link } from '@tanstack/react-router';
import { useMay, useTenant } from '../../api/tenant.ts';
import { SelectField } from '../../ui/field.tsx';
import { LiveTail, TextFilter, TimeRangeFilter } from '../../ui/filters.tsx';
import { visibleName } from '../../ui/names.ts';
import { Card } from '../../ui/page.tsx';
import { useKeys } from '../keys/key-queries.ts';
import type { RequestFilter } from '../request-links/requests-link.tsx';
import { useMemberEmails } from '../team/member-queries.ts';

type Options = readonly (readonly [value: string, text: string])[];

const statusOptions: Options = [
  ['', 'Any'],
  ...([2, 3, 4, 5] as const).map((first) => [`${first}xx`, `${first}xx`] as const),
  ...[
    '200',
    '201',
    '202',
    '204',
    '304',
    '400',
    '401',
    '403',
    '404',
    '405',
    '409',
    '412',
    '413',
    '415',
    '422',
    '429',
  ].map((status) => [status, status] as const),
  ...['500', '503', '504'].map((status) => [status, status] as const),
];

const methodOptions: Options = [
  ['', 'Any'],
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, method] as const),
];

/** Search parameters of the page. `live` is "1" if the list is updated automatically. */
type Search = RequestFilter & { readonly live?: string; readonly cursor?: string };

/** Returns the newest keys' names by ID. Empty for a user who may not read keys. */
export function useKeyNames(): ReadonlyMap<string, string> {
  const { data } = useKeys({ show: 'all' }, useMay('keys:read'));
  return new Map(data?.data.map((key) => [key.id, visibleName(key)]));
}

/** Card with the list's filters and the live tail's switch. */
export function RequestFilters({ of: search, onSet }: { readonly of: Search; readonly onSet: (set: Search) => void }) {
  const tenant = useTenant();
  const keys = useKeyNames();
  const emails = useMemberEmails();
  const users = [...emails].map(([actor, email]) => [actor.slice('user:'.length), email] as const);
  const { live, ...filter } = search;
  const isLive = live === '1';
  return (
    <Card title="Filters">
      <div className="filters">
        <SelectField
          label="Status"
          value={search.status ?? ''}
          options={withSelected(statusOptions, search.status)}
          onChange={(event) => onSet({ status: event.target.value })}
        />
        <SelectField
          label="Method"
          value={search.method ?? ''}
          options={methodOptions}
          onChange={(event) => onSet({ method: event.target.value })}
        />
        <TextFilter
          label="Route"
          value={search.route}
          placeholder="/v1/resources/{id}"
          onSet={(route) => onSet({ route })}
        />
        <TextFilter
          label="Error code"
          value={search.error}
          placeholder="not_found"
          onSet={(error) => onSet({ error })}
        />
        {keys.size > 0 || search.key ? (
          <SelectField
            label="API key"
            value={search.key ?? ''}
            options={withSelected([['', 'Any'], ...keys], search.key)}
            onChange={(event) => onSet({ key: event.target.value })}
          />
        ) : null}
        <SelectField
          label="User"
          value={search.user ?? ''}
          options={withSelected([['', 'Any'], ...users], search.user)}
          onChange={(event) => onSet({ user: event.target.value })}
        />
        <TextFilter label="IP address" value={search.ip} placeholder="203.0.113.7" onSet={(ip) => onSet({ ip })} />
        <TimeRangeFilter of={search} onSet={onSet} />
        <div className="stack-small">
          <LiveTail
            isLive={isLive}
            hints={{ off: 'Show new requests automatically', on: 'Updated every 2 s' }}
            onSet={onSet}
          />
          {Object.keys(filter).length > 0 ? (
            <Link to="/w/$workspace/$environment/requests" params={tenant} search={{}} className="small">
              Clear filters
            </Link>
          ) : null}
        </div>
      </div>
    </Card>
  );
}

/** Returns the options with the selected one, which a link may have set, or which is not loaded yet. */
function withSelected(options: Options, selected = ''): Options {
  return options.some(([value]) => value === selected) ? options : [...options, [selected, selected]];
}
