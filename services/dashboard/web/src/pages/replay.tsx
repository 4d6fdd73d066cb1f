import { useState } from 'react';
import type { ReplayAnswerDocument, ReplayDocument } from '../../../src/documents/replay.ts';
import type { WebhookDocument } from '../../../src/documents/webhook.ts';
import { useTenantChange, useTenantQuery } from '../api/tenant.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFoot } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { ErrorNote, Note } from '../ui/notes.tsx';
import { spanText } from '../ui/time.tsx';

const sinces: readonly (readonly [string, string])[] = [
  ['3600', 'the last hour'],
  ['86400', 'the last day'],
  ['604800', 'the last week'],
  ['2592000', 'the last 30 days'],
];
const lookEveryMs = 500;

/** Sends what has failed since a time again: first how much that is, then a bar that shows how far it is. */
export function ReplayDialog({
  webhooks,
  chosen,
  onClose,
}: {
  readonly webhooks: readonly WebhookDocument[];
  /** The webhook that the page shows. */
  readonly chosen: string | undefined;
  readonly onClose: () => void;
}) {
  const [webhook, setWebhook] = useState(chosen ?? webhooks[0]?.id ?? '');
  const [ago, setAgo] = useState('86400');
  const [rate, setRate] = useState('100');
  const [plan, setPlan] = useState<{ readonly since: string; readonly answer: ReplayAnswerDocument }>();
  const send = useTenantChange<ReplayAnswerDocument>();
  const begin = (since: string, isDry: boolean) =>
    send.mutate(
      {
        method: 'POST',
        path: '/replays',
        body: {
          webhook_id: webhook,
          since,
          dry_run: isDry,
          statuses: ['failed', 'skipped'],
          per_second: Math.max(1, Math.floor(Number(rate)) || 1),
        },
      },
      { onSuccess: (answer) => setPlan({ since, answer }) },
    );
  const running = plan?.answer.replay;
  if (running) return <Running begun={running} onClose={onClose} />;
  const isEmpty = plan?.answer.count === 0;
  return (
    <Dialog title="Redeliver all failed" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (plan && !isEmpty) begin(plan.since, false);
          else begin(new Date(Date.now() - Number(ago) * 1000).toISOString(), true);
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
            label="Events of"
            value={ago}
            options={sinces}
            onChange={(event) => {
              setAgo(event.target.value);
              setPlan(undefined);
            }}
          />
          <TextField
            label="At most, a second"
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
        {plan ? (
          isEmpty ? (
            <Note>Nothing has failed or was skipped in that time.</Note>
          ) : (
            <Note tone="warn">
              {plan.answer.count === 1 ? '1 delivery' : `${plan.answer.count.toLocaleString()} deliveries`} will be sent
              again, in {spanText(plan.answer.duration_seconds)}.
            </Note>
          )
        ) : (
          <p className="soft small">
            What failed, and what was skipped while the webhook was disabled. First it is counted.
          </p>
        )}
        <ErrorNote error={send.error} />
        <DialogFoot onClose={onClose} busy={send.isPending}>
          {plan && !isEmpty ? `Redeliver ${plan.answer.count.toLocaleString()}` : 'Count them'}
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function Running({ begun, onClose }: { readonly begun: ReplayDocument; readonly onClose: () => void }) {
  const { data = begun, error } = useTenantQuery<ReplayDocument>(`/replays/${begun.id}`, { everyMs: lookEveryMs });
  const cancel = useTenantChange();
  const isRunning = data.status === 'running';
  const titles = { running: 'Redelivering', done: 'Redelivered', cancelled: 'Stopped' } as const;
  return (
    <Dialog title={titles[data.status]} onClose={onClose}>
      <progress className="progress" aria-label="Sent again" value={data.replayed} max={Math.max(1, data.total)} />
      <p aria-live="polite">
        {data.replayed.toLocaleString()} of {data.total.toLocaleString()} sent again.
        {isRunning ? ' It goes on when this window is closed.' : ' Their attempts show in the delivery logs.'}
      </p>
      <ErrorNote error={error ?? cancel.error} />
      <div className="row row-end">
        {isRunning ? (
          <Button
            look="danger"
            busy={cancel.isPending}
            onClick={() => cancel.mutate({ method: 'POST', path: `/replays/${begun.id}/cancel` })}
          >
            Stop
          </Button>
        ) : null}
        <Button look="main" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
