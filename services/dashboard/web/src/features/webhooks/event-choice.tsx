import { type EventType, operationalEventTypes, resourceEventTypes } from '@rms/base/webhook-events';
import { Choice } from '../../ui/field.tsx';

const eventDescriptions: Readonly<Record<EventType, string>> = {
  'resource.created': 'A resource was created',
  'resource.updated': 'Name, status or metadata changed',
  'resource.status_changed': 'The status changed; sent in addition to resource.updated',
  'resource.deleted': 'A resource was deleted',
  'webhook.disabled': 'Another webhook was disabled, by a user or the service',
  'webhook.enabled': 'Another webhook was enabled',
  'webhook.failing': 'The endpoint of another webhook fails',
  'webhook.recovered': 'The endpoint of another webhook succeeds again',
  'delivery.failed': 'A delivery of another webhook has used up its retries',
  'api_key.created': 'An API key was created',
  'api_key.rolled': 'An API key was replaced by a new one',
  'api_key.revoked': 'An API key was revoked',
  'api_key.expiring': 'An API key expires soon',
  'quota.warning': 'The monthly quota is nearly used up',
  'quota.exceeded': 'The monthly quota is used up',
};

/**
 * Event types of a subscription. "*" subscribes to all types of events about resources, including future ones. It cannot
 * be combined with other types, so that choosing an operational event replaces it with the current types.
 */
export function EventChoice({
  selected,
  onChange,
  error,
}: {
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
  readonly error?: string | undefined;
}) {
  const isAll = selected.includes('*');
  const chosen: readonly string[] = isAll ? resourceEventTypes : selected;
  const toggle = (type: string) =>
    onChange(chosen.includes(type) ? chosen.filter((other) => other !== type) : [...chosen, type]);
  const choiceOf = (type: EventType, disabled: boolean) => (
    <Choice
      key={type}
      type="checkbox"
      label={<code>{type}</code>}
      hint={eventDescriptions[type]}
      checked={chosen.includes(type)}
      disabled={disabled}
      onChange={() => toggle(type)}
    />
  );
  return (
    <>
      <fieldset className="choices">
        <legend>Resource events</legend>
        <Choice
          type="checkbox"
          label="All resource events"
          hint="Includes types added in the future, and no operational events"
          checked={isAll}
          onChange={() => onChange(isAll ? [] : ['*'])}
        />
        {resourceEventTypes.map((type) => choiceOf(type, isAll))}
        {error ? <p className="field-error">{error}</p> : null}
      </fieldset>
      <fieldset className="choices">
        <legend>Operational events</legend>
        {operationalEventTypes.map((type) => choiceOf(type, false))}
      </fieldset>
    </>
  );
}
