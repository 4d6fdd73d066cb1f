import { eventTypes } from '@rms/base/webhook-events';
import { Link } from '@tanstack/react-router';
import { useTenant } from '../../api/tenant.ts';
import { SelectField } from '../../ui/field.tsx';
import { LiveTail, TextFilter, TimeRangeFilter } from '../../ui/filters.tsx';
import { Card } from '../../ui/page.tsx';
import { statusOptions } from '../attempts/delivery-status.tsx';
import type { DeliveryFilter } from './delivery-filter.ts';

const testOptions: readonly (readonly [string, string])[] = [
  ['', 'Included'],
  ['false', 'Excluded'],
  ['true', 'Only test events'],
];

/** Search parameters of the page. `live` is "1" if the list is updated automatically. */
type Search = DeliveryFilter & { readonly live?: string; readonly cursor?: string };

/** Card with the list's filters and the live tail's switch. */
export function DeliveryFilters({
  of: search,
  urls,
  isStreaming,
  onSet,
}: {
  readonly of: Search;
  /** URLs of the webhooks by ID. */
  readonly urls: ReadonlyMap<string, string>;
  /** Whether a stream sends the changes; otherwise the list is polled. */
  readonly isStreaming: boolean;
  readonly onSet: (changes: Search) => void;
}) {
  const tenant = useTenant();
  const { live, ...filter } = search;
  const isLive = live === '1';
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Card title="Filters">
      <div className="filters">
        <SelectField
          label="Webhook"
          value={search.webhook ?? ''}
          options={webhookOptions(urls, search.webhook)}
          onChange={(event) => onSet({ webhook: event.target.value })}
        />
        <SelectField
          label="Status"
          value={search.status ?? ''}
          options={statusOptions}
          onChange={(event) => onSet({ status: event.target.value })}
        />
        <SelectField
          label="Event type"
          value={search.type ?? ''}
          options={[['', 'Any type'], ...eventTypes.map((type) => [type, type] as const)]}
          onChange={(event) => onSet({ type: event.target.value })}
        />
        <SelectField
          label="Test events"
          value={search.test ?? ''}
          options={testOptions}
          onChange={(event) => onSet({ test: event.target.value })}
        />
        <TextFilter label="Request ID" value={search.request} onSet={(request) => onSet({ request })} />
        <TextFilter label="Resource ID" value={search.resource} onSet={(resource) => onSet({ resource })} />
        <TimeRangeFilter of={search} onSet={onSet} />
        <div className="stack-small">
          <LiveTail
            of="deliveries"
            isLive={isLive}
            state={isStreaming ? 'New deliveries appear immediately' : 'Polling every 2 s'}
            onSet={onSet}
          />
          {isFiltered ? (
            <Link to="/w/$workspace/$environment/deliveries" params={tenant} search={{}} className="small">
              Clear filters
            </Link>
          ) : null}
        </div>
      </div>
    </Card>
  );
}

/** Options of the webhook filter. Includes the selected webhook even if it is not loaded yet or has been deleted. */
function webhookOptions(urls: ReadonlyMap<string, string>, selected = ''): (readonly [string, string])[] {
  const unknown = selected !== '' && !urls.has(selected) ? [[selected, selected] as const] : [];
  return [['', 'Any webhook'], ...unknown, ...urls];
}
