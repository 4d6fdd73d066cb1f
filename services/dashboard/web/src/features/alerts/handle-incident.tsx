import type { Incident } from '@rms/api';
import { useMay, useTenantChange } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';

const muteMs = 24 * 3_600_000;
const minuteMs = 60_000;

/** Buttons that acknowledge and mute an open incident. */
export function HandleIncident({ of: incident }: { readonly of: Incident }) {
  const mayWrite = useMay('alerts:write');
  const change = useTenantChange(() => toast('Incident updated.'));
  if (!mayWrite || incident.status !== 'open') return null;
  const { id, summary, acknowledged_at: acknowledgedAt, muted_until: mutedUntil } = incident;
  const isMuted = mutedUntil !== null && Date.parse(mutedUntil) > Date.now();
  // Whole minutes, so that a repetition after a lost response has the same content.
  const until = new Date(Math.ceil((Date.now() + muteMs) / minuteMs) * minuteMs).toISOString();
  const path = `/incidents/${id}`;
  return (
    <div className="row">
      {acknowledgedAt === null ? (
        <Button
          small
          aria-label={`Acknowledge: ${summary}`}
          busy={change.isPending}
          onClick={() => change.mutate({ method: 'POST', path: `${path}/acknowledge` })}
        >
          Acknowledge
        </Button>
      ) : null}
      <Button
        small
        aria-label={`${isMuted ? 'Unmute' : 'Mute for a day'}: ${summary}`}
        busy={change.isPending}
        onClick={() => change.mutate({ method: 'POST', path: `${path}/mute`, body: { until: isMuted ? null : until } })}
      >
        {isMuted ? 'Unmute' : 'Mute for a day'}
      </Button>
    </div>
  );
}
