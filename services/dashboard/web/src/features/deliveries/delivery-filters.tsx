import { eventTypes } from '@rms/base/webhook-events';
import { Link } from '@tanstack/react-router';
import { useTenant } from '../../api/tenant.ts';
import { deliveryTexts } from '../../texts/deliveries.ts';
import { uiTexts } from '../../texts/ui.ts';
import { SelectField } from '../../ui/field.tsx';
import { LiveTail, TextFilter, TimeRangeFilter } from '../../ui/filters.tsx';
import { Card } from '../../ui/page.tsx';
import { statusOptions } from '../attempts/delivery-status.tsx';
import type { DeliveryFilter } from './delivery-filter.ts';

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
  const texts = deliveryTexts();
  const tenant = useTenant();
  const { live, ...filter } = search;
  const isLive = live === '1';
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Card title={uiTexts().filters}>
      <div className="filters">
        <SelectField
          label={texts.webhook}
          value={search.webhook ?? ''}
          options={webhookOptions(urls, search.webhook)}
          onChange={(event) => onSet({ webhook: event.target.value })}
        />
        <SelectField
          label={texts.status}
          value={search.status ?? ''}
          options={statusOptions()}
          onChange={(event) => onSet({ status: event.target.value })}
        />
        <SelectField
          label={texts.eventType}
          value={search.type ?? ''}
          options={[['', texts.anyType], ...eventTypes.map((type) => [type, type] as const)]}
          onChange={(event) => onSet({ type: event.target.value })}
        />
        <SelectField
          label={texts.testEvents}
          value={search.test ?? ''}
          options={[
            ['', texts.tests.included],
            ['false', texts.tests.excluded],
            ['true', texts.tests.only],
          ]}
          onChange={(event) => onSet({ test: event.target.value })}
        />
        <TextFilter label={texts.requestId} value={search.request} onSet={(request) => onSet({ request })} />
        <TextFilter label={texts.resourceId} value={search.resource} onSet={(resource) => onSet({ resource })} />
        <TimeRangeFilter of={search} onSet={onSet} />
        <div className="stack-small">
          <LiveTail
            isLive={isLive}
            hints={{ off: texts.liveOff, on: isStreaming ? texts.streaming : texts.polling }}
            onSet={onSet}
          />
          {isFiltered ? (
            <Link to="/w/$workspace/$environment/deliveries" params={tenant} search={{}} className="small">
              {uiTexts().clearFilters}
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
  return [['', deliveryTexts().anyWebhook], ...unknown, ...urls];
}
