import { type EventType, eventTypes } from '@rms/base/webhook-events';
import { Choice } from '../../ui/field.tsx';

const eventDescriptions: Readonly<Record<EventType, string>> = {
  'resource.created': 'A resource was created',
  'resource.updated': 'Name, status or metadata changed',
  'resource.status_changed': 'The status changed; sent in addition to resource.updated',
  'resource.deleted': 'A resource was deleted',
};

/** Event types of a subscription. "*" subscribes to all types, including future ones. */
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
  const toggle = (type: string) =>
    onChange(selected.includes(type) ? selected.filter((other) => other !== type) : [...selected, type]);
  return (
    <fieldset className="choices">
      <legend>Events</legend>
      <Choice
        type="checkbox"
        label="All events"
        hint="Includes types added in the future"
        checked={isAll}
        onChange={() => onChange(isAll ? [] : ['*'])}
      />
      {eventTypes.map((type) => (
        <Choice
          key={type}
          type="checkbox"
          label={<code>{type}</code>}
          hint={eventDescriptions[type]}
          checked={isAll || selected.includes(type)}
          disabled={isAll}
          onChange={() => toggle(type)}
        />
      ))}
      {error ? <p className="field-error">{error}</p> : null}
    </fieldset>
  );
}
