import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { cursorOf, useMay, useTenant } from '../../api/tenant.ts';
import { withoutEmpty } from '../../search.ts';
import { uiTexts } from '../../texts/ui.ts';
import { webhookTexts } from '../../texts/webhooks.ts';
import { buttonClass } from '../../ui/button.tsx';
import { SelectField } from '../../ui/field.tsx';
import { TextFilter } from '../../ui/filters.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { WebhookHealthSummary } from './webhook-health.tsx';
import { useWebhooksWithHealth, type WebhookFilter } from './webhook-queries.ts';
import { eventsText, WebhookStatusBadge } from './webhook-status.tsx';

const from = '/w/$workspace/$environment/webhooks';

export function WebhooksPage() {
  const texts = webhookTexts();
  const tenant = useTenant();
  const search = useSearch({ from });
  const navigate = useNavigate({ from });
  const mayWrite = useMay('webhooks:write');
  const { data, error } = useWebhooksWithHealth(search);
  const { cursor: _, ...filter } = search;
  const isFiltered = Object.keys(filter).length > 0;
  const set = (changes: WebhookFilter) =>
    void navigate({ search: withoutEmpty({ ...filter, ...changes }), replace: true });
  const create = mayWrite ? (
    <Link to="/w/$workspace/$environment/webhooks/new" params={tenant} className={buttonClass('main')}>
      {texts.create}
    </Link>
  ) : null;
  return (
    <>
      <PageHeader title={uiTexts().webhooks} lead={texts.lead} actions={create} />
      <Card title={uiTexts().filters}>
        <div className="filters">
          <TextFilter
            label={texts.url}
            value={filter.url}
            placeholder="https://example.com/hooks"
            onSet={(url) => set({ url })}
          />
          <SelectField
            label={texts.status}
            value={filter.status ?? ''}
            options={[['', texts.anyStatus], ...Object.entries(texts.statuses)]}
            onChange={(event) => set({ status: event.target.value })}
          />
          <SelectField
            label={texts.health}
            value={filter.health ?? ''}
            options={[['', texts.anyHealth], ...Object.entries(texts.healths)]}
            onChange={(event) => set({ health: event.target.value })}
          />
        </div>
      </Card>
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading label={texts.loadingList} rows={6} />}
        {data?.data.length === 0 && isFiltered ? (
          <Empty icon="webhooks" title={texts.noMatches}>
            {data.links.next ? texts.noMatchOnPage : uiTexts().changeFilters}
          </Empty>
        ) : null}
        {data?.meta.total === 0 ? (
          <Empty icon="webhooks" title={texts.noneTitle} action={create}>
            {texts.none}
          </Empty>
        ) : null}
        {data && data.data.length > 0 ? (
          <Table
            label={uiTexts().webhooks}
            rows={data.data}
            keyOf={({ id }) => id}
            columns={[
              {
                title: texts.endpoint,
                cell: (webhook) => (
                  <Link
                    to="/w/$workspace/$environment/webhooks/$id"
                    params={{ ...tenant, id: webhook.id }}
                    className="main-link break"
                  >
                    {webhook.url}
                  </Link>
                ),
              },
              { title: texts.events, cell: (webhook) => <span className="break">{eventsText(webhook.events)}</span> },
              { title: texts.status, cell: (webhook) => <WebhookStatusBadge of={webhook} /> },
              { title: texts.health, cell: (webhook) => <WebhookHealthSummary of={webhook.health} /> },
              { title: texts.created, cell: (webhook) => <Time at={webhook.created_at} /> },
            ]}
          />
        ) : null}
        {data ? (
          <Pager
            total={data.meta.total ?? undefined}
            next={cursorOf(data.links.next)}
            previous={cursorOf(data.links.prev)}
          />
        ) : null}
      </Card>
    </>
  );
}
