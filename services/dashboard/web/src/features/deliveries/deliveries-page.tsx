import type { Delivery } from '@rms/api';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useContext, useState } from 'react';
import { cursorOf, PortalPermissions, useMay, useTenant, useTenantChange } from '../../api/tenant.ts';
import { withoutEmpty } from '../../search.ts';
import { deliveryTexts } from '../../texts/deliveries.ts';
import { uiTexts } from '../../texts/ui.ts';
import { toast } from '../../toasts.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { urlsOf, useWebhooks } from '../webhooks/webhook-queries.ts';
import { deliveryColumns } from './delivery-columns.tsx';
import { matchesFilter } from './delivery-filter.ts';
import { DeliveryFilters } from './delivery-filters.tsx';
import { useDeliveries } from './delivery-queries.ts';
import { mergeStreamed, useDeliveryTail } from './delivery-tail.ts';
import { ReplayDialog } from './replay-dialog.tsx';

/** Polling intervals of the live tail. With a stream, polling shows the changes to old deliveries. */
const pollMs = { withoutStream: 2_000, streaming: 15_000 };
const from = '/w/$workspace/$environment/deliveries';

export function DeliveriesPage() {
  const texts = deliveryTexts();
  const tenant = useTenant();
  const search = useSearch({ from });
  const navigate = useNavigate({ from });
  const maySend = useMay('deliveries:write');
  const { live, ...filter } = search;
  const isLive = live === '1';
  // An EventSource stream cannot have a portal session's token, so its pages poll.
  const isPortal = useContext(PortalPermissions) !== undefined;
  const tail = useDeliveryTail(isLive && !filter.cursor && !isPortal);
  const {
    data: page,
    error,
    dataUpdatedAt: listedAtMs,
  } = useDeliveries(filter, isLive ? pollMs[tail.isOpen ? 'streaming' : 'withoutStream'] : false);
  const matches = (delivery: Delivery) => matchesFilter(delivery, filter);
  const data = page && { ...page, data: mergeStreamed(page, tail.streamed, listedAtMs, matches) };
  const webhooks = useWebhooks();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [replaying, setReplaying] = useState(false);
  const redeliver = useTenantChange<{ sent: number; refused: number }>(({ sent, refused }) => {
    setSelected(new Set());
    toast(texts.redelivered(sent, refused));
  });
  const set = (changes: Partial<typeof search>) => {
    setSelected(new Set());
    void navigate({ search: (before) => withoutEmpty({ ...before, cursor: '', ...changes }), replace: true });
  };
  const urls = urlsOf(webhooks.data);
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <PageHeader
        title={uiTexts().deliveries}
        lead={texts.lead}
        actions={
          maySend ? (
            <>
              {selected.size > 0 ? (
                <Button
                  busy={redeliver.isPending}
                  onClick={() =>
                    redeliver.mutate({ method: 'POST', path: '/deliveries/redeliver', body: { ids: [...selected] } })
                  }
                >
                  {texts.redeliverSelected(selected.size)}
                </Button>
              ) : null}
              <Button variant="main" disabled={!webhooks.data?.data.length} onClick={() => setReplaying(true)}>
                {texts.redeliverFailed}
              </Button>
            </>
          ) : null
        }
      />
      <ErrorNote error={redeliver.error} />
      <DeliveryFilters of={search} urls={urls} isStreaming={tail.isOpen} onSet={set} />
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading label={texts.loadingList} rows={12} />}
        {data?.data.length === 0 ? <NoDeliveries isFiltered={isFiltered} hasNext={data.links.next !== null} /> : null}
        {data && data.data.length > 0 ? (
          <Table
            label={texts.list}
            rows={data.data}
            keyOf={({ id }) => id}
            {...(maySend ? { select: { selected, onChange: setSelected } } : {})}
            columns={Object.values(deliveryColumns(tenant, urls))}
          />
        ) : null}
        {data ? <Pager next={cursorOf(data.links.next)} /> : null}
      </Card>
      {replaying ? (
        <ReplayDialog
          webhooks={webhooks.data?.data ?? []}
          selected={search.webhook}
          onClose={() => setReplaying(false)}
        />
      ) : null}
    </>
  );
}

/** Explains an empty list. `hasNext`: further pages may have matches, because a page reads a limited number of rows. */
function NoDeliveries({ isFiltered, hasNext }: { readonly isFiltered: boolean; readonly hasNext: boolean }) {
  const texts = deliveryTexts();
  const tenant = useTenant();
  if (isFiltered) {
    return (
      <Empty icon="deliveries" title={texts.noMatches}>
        {hasNext ? texts.noMatchOnPage : uiTexts().changeFilters}
      </Empty>
    );
  }
  return (
    <Empty
      icon="deliveries"
      title={texts.noneTitle}
      action={
        <Link to="/w/$workspace/$environment/webhooks" params={tenant} className={buttonClass()}>
          {uiTexts().webhooks}
        </Link>
      }
    >
      {texts.none}
    </Empty>
  );
}
