import type { Delivery } from '@rms/api';
import { useState } from 'react';
import type { ReplayDocument, ReplayResponseDocument } from '../../../../src/documents/replay.ts';
import type { WebhookDocument } from '../../../../src/documents/webhook.ts';
import { useTenantChange } from '../../api/tenant.ts';
import { Button } from '../../ui/button.tsx';
import { countText } from '../../ui/count.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { durationText } from '../../ui/duration.ts';
import { Choice, SelectField, TextField } from '../../ui/field.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { deliveryStatuses } from '../attempts/delivery-status.tsx';
import { logRanges } from '../rules/limit-texts.ts';
import { useLimits } from '../rules/limits-queries.ts';
import { useReplay } from './delivery-queries.ts';

/** Statuses that a replay can select. A canceled delivery can only be redelivered individually. */
const replayable = deliveryStatuses.filter(([status]) => status !== 'canceled');
/** Initially selected. Includes `retrying`, because most failing deliveries are still retrying during an outage. */
const defaultStatuses: readonly Delivery['status'][] = ['failed', 'retrying', 'skipped'];

/** Dialog for redelivering deliveries of a time range. Shows the number of deliveries, then the progress. */
export function ReplayDialog({
  webhooks,
  selected,
  onClose,
}: {
  readonly webhooks: readonly WebhookDocument[];
  /** Webhook that the page is filtered by. */
  readonly selected: string | undefined;
  readonly onClose: () => void;
}) {
  const [webhook, setWebhook] = useState(selected ?? webhooks[0]?.id ?? '');
  const { data: limits } = useLimits();
  const [rangeSeconds, setRangeSeconds] = useState('86400');
  const [rate, setRate] = useState('100');
  const [statuses, setStatuses] = useState(defaultStatuses);
  const [plan, setPlan] = useState<{ readonly since: string; readonly result: ReplayResponseDocument }>();
  const send = useTenantChange<ReplayResponseDocument>();
  const start = (since: string, isDryRun: boolean) =>
    send.mutate(
      {
        method: 'POST',
        path: '/replays',
        body: {
          webhook_id: webhook,
          since,
          dry_run: isDryRun,
          statuses,
          per_second: Math.max(1, Math.floor(Number(rate)) || 1),
        },
      },
      { onSuccess: (result) => setPlan({ since, result }) },
    );
  const running = plan?.result.replay;
  if (running) return <ReplayProgress initial={running} onClose={onClose} />;
  const isEmpty = plan?.result.count === 0 && !plan.result.count_is_minimum;
  return (
    <Dialog title="Redeliver all failed" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (plan && !isEmpty) start(plan.since, false);
          else start(new Date(Date.now() - Number(rangeSeconds) * 1000).toISOString(), true);
        }}
      >
        <SelectField
          label="Webhook"
          value={webhook}
          options={webhooks.map(({ id, url }) => [id, url])}
          onChange={(event) => {
            setWebhook(event.target.value);
            setPlan(undefined);
          }}
        />
        <div className="form-grid">
          <SelectField
            label="Time range"
            value={rangeSeconds}
            options={logRanges(limits)}
            onChange={(event) => {
              setRangeSeconds(event.target.value);
              setPlan(undefined);
            }}
          />
          <TextField
            label="Maximum deliveries per second"
            type="number"
            min={1}
            max={10_000}
            value={rate}
            onChange={(event) => {
              setRate(event.target.value);
              setPlan(undefined);
            }}
          />
        </div>
        <fieldset className="choices">
          <legend>Statuses</legend>
          {replayable.map(([status, text]) => (
            <Choice
              key={status}
              type="checkbox"
              label={text}
              checked={statuses.includes(status)}
              onChange={() => {
                setStatuses(
                  statuses.includes(status) ? statuses.filter((other) => other !== status) : [...statuses, status],
                );
                setPlan(undefined);
              }}
            />
          ))}
        </fieldset>
        {plan ? (
          isEmpty ? (
            <Note>There are no deliveries in these statuses in this time range.</Note>
          ) : (
            <Note tone="warn">{estimateText(plan.result)}</Note>
          )
        ) : (
          <p className="soft small">Each delivery is attempted again, with a full set of retries. Count them first.</p>
        )}
        <ErrorNote error={send.error} />
        <DialogFooter onClose={onClose} busy={send.isPending} disabled={statuses.length === 0}>
          {!plan || isEmpty
            ? 'Count deliveries'
            : `Redeliver ${plan.result.count_is_minimum ? 'all' : plan.result.count.toLocaleString()}`}
        </DialogFooter>
      </form>
    </Dialog>
  );
}

function estimateText({
  count,
  count_is_minimum: isMinimum,
  duration_seconds: seconds,
}: ReplayResponseDocument): string {
  const deliveries = countText(count, 'delivery', 'deliveries');
  return isMinimum
    ? `At least ${deliveries} will be redelivered, in at least ${durationText(seconds)}.`
    : `${deliveries} will be redelivered in ${durationText(seconds)}.`;
}

function ReplayProgress({ initial, onClose }: { readonly initial: ReplayDocument; readonly onClose: () => void }) {
  const { data = initial, error } = useReplay(initial.id);
  const cancel = useTenantChange();
  const isRunning = data.status === 'running';
  const titles = { running: 'Redelivering', done: 'Redelivered', canceled: 'Stopped' } as const;
  return (
    <Dialog title={titles[data.status]} onClose={onClose}>
      <progress className="progress" aria-label="Redelivery progress" {...progressOf(data)} />
      <p aria-live="polite">
        {data.replayed.toLocaleString()}
        {data.total === null ? '' : ` of ${data.total.toLocaleString()}`} redelivered.
        {isRunning ? ' The replay continues if you close this window.' : ' See the delivery logs for the attempts.'}
      </p>
      <ErrorNote error={error ?? cancel.error} />
      <div className="row row-end">
        {isRunning ? (
          <Button
            variant="danger"
            busy={cancel.isPending}
            onClick={() => cancel.mutate({ method: 'POST', path: `/replays/${initial.id}/cancel` })}
          >
            Stop
          </Button>
        ) : null}
        <Button variant="main" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

/** Returns the value and maximum of the progress bar. Empty while a replay with an unknown total is running. */
function progressOf({ status, replayed, total }: ReplayDocument) {
  if (total !== null) return { value: replayed, max: total };
  return status === 'running' ? {} : { value: 1, max: 1 };
}
