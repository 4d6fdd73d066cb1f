import type { Delivery, Replay, ReplayEstimate, Webhook } from '@rms/api';
import { useState } from 'react';
import { type Change, type One, useTenantChange } from '../../api/tenant.ts';
import { attemptTexts } from '../../texts/attempts.ts';
import { deliveryTexts } from '../../texts/deliveries.ts';
import { uiTexts } from '../../texts/ui.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Choice, SelectField, TextField } from '../../ui/field.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { useLimits } from '../rules/limits-queries.ts';
import { useReplay } from './delivery-queries.ts';
import { logRanges } from './log-retention.ts';

/** Statuses that a replay can select. A canceled delivery can only be redelivered individually. */
const replayable = ['pending', 'retrying', 'delivered', 'failed', 'skipped'] as const;
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
  const texts = deliveryTexts();
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
    <Dialog title={texts.redeliverFailed} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (plan && !isEmpty) send.mutate(changeOf(plan.since, false));
          else estimate(new Date(Date.now() - Number(rangeSeconds) * 1000).toISOString());
        }}
      >
        <SelectField
          label={texts.webhook}
          value={webhook}
          options={webhooks.map(({ id, url }) => [id, url])}
          onChange={(event) => {
            setWebhook(event.target.value);
            setPlan(undefined);
          }}
        />
        <div className="form-grid">
          <SelectField
            label={texts.timeRange}
            value={rangeSeconds}
            options={logRanges(limits)}
            onChange={(event) => {
              setRangeSeconds(event.target.value);
              setPlan(undefined);
            }}
          />
          <TextField
            label={texts.rate}
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
          <legend>{texts.statuses}</legend>
          {replayable.map((status) => (
            <Choice
              key={status}
              type="checkbox"
              label={attemptTexts().statuses[status]}
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
            <Note>{texts.noneInRange}</Note>
          ) : (
            <Note tone="warn">{estimateText(plan.estimate)}</Note>
          )
        ) : (
          <p className="soft small">{texts.countFirst}</p>
        )}
        <ErrorNote error={count.error ?? send.error} />
        <DialogFooter onClose={onClose} busy={count.isPending || send.isPending} disabled={statuses.length === 0}>
          {!plan || isEmpty
            ? texts.count
            : plan.estimate.matching_is_minimum
              ? texts.redeliverAll
              : texts.redeliverCount(plan.estimate.matching)}
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
  const texts = deliveryTexts();
  return isMinimum ? texts.minimum(matching, seconds) : texts.estimate(matching, seconds);
}

function ReplayProgress({ initial, onClose }: { readonly initial: Replay; readonly onClose: () => void }) {
  const texts = deliveryTexts();
  const { data = initial, error } = useReplay(initial.id);
  const cancel = useTenantChange();
  const isRunning = data.status === 'running';
  return (
    <Dialog title={texts.replays[data.status]} onClose={onClose}>
      <progress className="progress" aria-label={texts.progress} {...progressOf(data)} />
      <p aria-live="polite">
        {data.matching === null ? texts.sent(data.sent) : texts.sentOf(data.sent, data.matching)}{' '}
        {isRunning ? texts.continues : texts.seeLogs}
      </p>
      <ErrorNote error={error ?? cancel.error} />
      <div className="row row-end">
        {isRunning ? (
          <Button
            variant="danger"
            busy={cancel.isPending}
            onClick={() => cancel.mutate({ method: 'POST', path: `/replays/${initial.id}/cancel` })}
          >
            {texts.stop}
          </Button>
        ) : null}
        <Button variant="main" onClick={onClose}>
          {uiTexts().close}
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
