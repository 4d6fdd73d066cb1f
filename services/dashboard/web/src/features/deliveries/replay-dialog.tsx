import type { Delivery, Replay, ReplayEstimate, Webhook } from '@rms/api';
import { useState } from 'react';
import { type Change, type One, useTenantChange } from '../../api/tenant.ts';
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
  readonly webhooks: readonly Webhook[];
  /** Webhook that the page is filtered by. */
  readonly selected: string | undefined;
  readonly onClose: () => void;
}) {
  const [webhook, setWebhook] = useState(selected ?? webhooks[0]?.id ?? '');
  const { data: limits } = useLimits();
  const [rangeSeconds, setRangeSeconds] = useState('86400');
  const [rate, setRate] = useState('100');
  const [statuses, setStatuses] = useState(defaultStatuses);
  const [plan, setPlan] = useState<{ readonly since: string; readonly estimate: ReplayEstimate }>();
  const [running, setRunning] = useState<Replay>();
  const count = useTenantChange<One<ReplayEstimate>>();
  const send = useTenantChange<One<Replay>>(({ data }) => setRunning(data));
  const changeOf = (since: string, isDryRun: boolean): Change => ({
    method: 'POST',
    path: '/replays',
    body: {
      webhook_id: webhook,
      created_after: since,
      dry_run: isDryRun,
      statuses,
      rate_per_second: Math.max(1, Math.floor(Number(rate)) || 1),
    },
  });
  const estimate = (since: string) =>
    count.mutate(changeOf(since, true), { onSuccess: ({ data }) => setPlan({ since, estimate: data }) });
  if (running) return <ReplayProgress initial={running} onClose={onClose} />;
  const isEmpty = plan?.estimate.matching === 0 && !plan.estimate.matching_is_minimum;
  return (
    <Dialog title="Redeliver all failed" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (plan && !isEmpty) send.mutate(changeOf(plan.since, false));
          else estimate(new Date(Date.now() - Number(rangeSeconds) * 1000).toISOString());
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
            <Note tone="warn">{estimateText(plan.estimate)}</Note>
          )
        ) : (
          <p className="soft small">Each delivery is attempted again, with a full set of retries. Count them first.</p>
        )}
        <ErrorNote error={count.error ?? send.error} />
        <DialogFooter onClose={onClose} busy={count.isPending || send.isPending} disabled={statuses.length === 0}>
          {!plan || isEmpty
            ? 'Count deliveries'
            : `Redeliver ${plan.estimate.matching_is_minimum ? 'all' : plan.estimate.matching.toLocaleString()}`}
        </DialogFooter>
      </form>
    </Dialog>
  );
}

function estimateText({
  matching,
  matching_is_minimum: isMinimum,
  estimated_seconds: seconds,
}: ReplayEstimate): string {
  const deliveries = countText(matching, 'delivery', 'deliveries');
  return isMinimum
    ? `At least ${deliveries} will be redelivered, in at least ${durationText(seconds)}.`
    : `${deliveries} will be redelivered in ${durationText(seconds)}.`;
}

function ReplayProgress({ initial, onClose }: { readonly initial: Replay; readonly onClose: () => void }) {
  const { data = initial, error } = useReplay(initial.id);
  const cancel = useTenantChange();
  const isRunning = data.status === 'running';
  const titles = { running: 'Redelivering', done: 'Redelivered', canceled: 'Stopped' } as const;
  return (
    <Dialog title={titles[data.status]} onClose={onClose}>
      <progress className="progress" aria-label="Redelivery progress" {...progressOf(data)} />
      <p aria-live="polite">
        {data.sent.toLocaleString()}
        {data.matching === null ? '' : ` of ${data.matching.toLocaleString()}`} redelivered.
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
function progressOf({ status, sent, matching }: Replay) {
  if (matching !== null) return { value: sent, max: matching };
  return status === 'running' ? {} : { value: 1, max: 1 };
}
