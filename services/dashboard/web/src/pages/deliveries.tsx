import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeliveryDocument } from '../../../src/documents/delivery.ts';
import type { WebhookDocument } from '../../../src/documents/webhook.ts';
import { mergeNews, useDeliveryTail } from '../api/delivery-tail.ts';
import { useMay, useTenant, useTenantChange, useTenantQuery } from '../api/tenant.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { Choice, SelectField, TextField } from '../ui/field.tsx';
import { Empty, ErrorNote, Loading } from '../ui/notes.tsx';
import { Card, PageHead } from '../ui/page.tsx';
import { Pager } from '../ui/pager.tsx';
import { Table } from '../ui/table.tsx';
import { toast } from '../ui/toasts.tsx';
import { deliveryColumns } from './delivery-columns.tsx';
import { isWanted } from './delivery-filter.ts';
import { statusOptions } from './delivery-state.tsx';
import { eventTypes } from './event-choice.tsx';
import { ReplayDialog } from './replay.tsx';
import { TextFilter } from './text-filter.tsx';

interface Page {
  readonly data: readonly DeliveryDocument[];
  readonly next: string | null;
}

/** While a live tail is not connected; and while it is, for changes of deliveries of long ago. */
const askEveryMs = { alone: 2_000, streaming: 15_000 };
const from = '/w/$workspace/$environment/deliveries';

export function DeliveriesPage() {
  const tenant = useTenant();
  const search = useSearch({ from });
  const navigate = useNavigate({ from });
  const maySend = useMay('deliveries.send');
  const { live, ...filter } = search;
  const isLive = live === '1';
  const tail = useDeliveryTail(isLive && !filter.cursor);
  const {
    data: page,
    error,
    dataUpdatedAt: listedAtMs,
  } = useTenantQuery<Page>('/deliveries', {
    search: filter,
    everyMs: isLive ? askEveryMs[tail.isOpen ? 'streaming' : 'alone'] : false,
  });
  const matches = (delivery: DeliveryDocument) => isWanted(delivery, filter);
  const data = page && { ...page, data: mergeNews(page, tail.news, listedAtMs, matches) };
  const webhooks = useTenantQuery<{ data: readonly WebhookDocument[] }>('/webhooks');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [replaying, setReplaying] = useState(false);
  const redeliver = useTenantChange<{ sent: number; refused: number }>(({ sent, refused }) => {
    setChosen(new Set());
    toast(`${sent} are being delivered again${refused > 0 ? `; ${refused} could not be` : ''}.`);
  });
  const set = (changes: Partial<typeof search>) => {
    setChosen(new Set());
    void navigate({ search: (before) => clean({ ...before, cursor: '', ...changes }), replace: true });
  };
  const urls = new Map(webhooks.data?.data.map(({ id, url }) => [id, url]));
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <PageHead
        title="Delivery logs"
        lead="Every delivery of every event, with each attempt."
        actions={
          maySend ? (
            <>
              {chosen.size > 0 ? (
                <Button
                  busy={redeliver.isPending}
                  onClick={() =>
                    redeliver.mutate({ method: 'POST', path: '/deliveries/redeliver', body: { ids: [...chosen] } })
                  }
                >
                  Redeliver {chosen.size} selected
                </Button>
              ) : null}
              <Button look="main" disabled={!webhooks.data?.data.length} onClick={() => setReplaying(true)}>
                Redeliver all failed
              </Button>
            </>
          ) : null
        }
      />
      <ErrorNote error={redeliver.error} />
      <Card title="Filters">
        <div className="filters">
          <SelectField
            label="Webhook"
            value={search.webhook ?? ''}
            options={webhookOptions(urls, search.webhook)}
            onChange={(event) => set({ webhook: event.target.value })}
          />
          <SelectField
            label="Status"
            value={search.status ?? ''}
            options={statusOptions}
            onChange={(event) => set({ status: event.target.value })}
          />
          <SelectField
            label="Event type"
            value={search.type ?? ''}
            options={[['', 'Any type'], ...eventTypes.map((type) => [type, type] as const)]}
            onChange={(event) => set({ type: event.target.value })}
          />
          <TextFilter label="Request id" value={search.request} onSet={(request) => set({ request })} />
          <TextFilter label="Resource id" value={search.resource} onSet={(resource) => set({ resource })} />
          <TextField
            label="Since"
            type="datetime-local"
            value={toLocal(search.since)}
            onChange={(event) => set({ since: toUtc(event.target.value) })}
          />
          <TextField
            label="Until"
            type="datetime-local"
            value={toLocal(search.until)}
            onChange={(event) => set({ until: toUtc(event.target.value) })}
          />
          <div className="stack-small">
            <Choice
              type="checkbox"
              label="Live tail"
              hint={
                isLive
                  ? tail.isOpen
                    ? 'New ones show as they come'
                    : 'Asking every 2 s'
                  : 'New ones show by themselves'
              }
              checked={isLive}
              onChange={() => set({ live: isLive ? '' : '1' })}
            />
            {isFiltered ? (
              <Link to={from} params={tenant} search={{}} className="small">
                Clear all filters
              </Link>
            ) : null}
          </div>
        </div>
      </Card>
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading what="deliveries" rows={12} />}
        {data?.data.length === 0 ? (
          isFiltered ? (
            <Empty icon="deliveries" title="No delivery matches">
              {data.next ? 'None on this page; go on to the next one, or change the filters.' : 'Change the filters.'}
            </Empty>
          ) : (
            <Empty
              icon="deliveries"
              title="No deliveries yet"
              action={
                <Link to="/w/$workspace/$environment/webhooks" params={tenant} className={buttonClass()}>
                  Webhooks
                </Link>
              }
            >
              When something happens to a resource, each webhook that wants the event gets a delivery. Create a webhook,
              then a resource.
            </Empty>
          )
        ) : null}
        {data && data.data.length > 0 ? (
          <Table
            label="Deliveries"
            rows={data.data}
            keyOf={({ id }) => id}
            {...(maySend ? { select: { chosen, onChange: setChosen } } : {})}
            columns={Object.values(deliveryColumns(tenant, urls))}
          />
        ) : null}
        {data ? <Pager next={data.next} /> : null}
      </Card>
      {replaying ? (
        <ReplayDialog
          webhooks={webhooks.data?.data ?? []}
          chosen={search.webhook}
          onClose={() => setReplaying(false)}
        />
      ) : null}
    </>
  );
}

/** The one that is chosen is among them before the others are known, and when it has been deleted. */
function webhookOptions(urls: ReadonlyMap<string, string>, chosen = ''): (readonly [string, string])[] {
  const unknown = chosen !== '' && !urls.has(chosen) ? [[chosen, chosen] as const] : [];
  return [['', 'Any webhook'], ...unknown, ...urls];
}

/** What is empty is not in the address. */
function clean<T extends Record<string, string | undefined>>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value)) as T;
}

/** What a field for times shows: local, without seconds. */
function toLocal(at: string | undefined): string {
  if (!at || Number.isNaN(Date.parse(at))) return '';
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function toUtc(local: string): string {
  return local === '' ? '' : new Date(local).toISOString();
}
