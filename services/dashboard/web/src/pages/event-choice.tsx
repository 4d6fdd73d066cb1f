import { Choice } from '../ui/field.tsx';

/** The types that can be subscribed to; "*" stands for all of them, and for those to come. */
export const eventTypes = [
  'resource.created',
  'resource.updated',
  'resource.status_changed',
  'resource.deleted',
] as const;

const abouts: Readonly<Record<(typeof eventTypes)[number], string>> = {
  'resource.created': 'A resource was made',
  'resource.updated': 'Name, status or metadata changed',
  'resource.status_changed': 'The status changed, beside resource.updated',
  'resource.deleted': 'A resource was deleted',
};

export function EventChoice({
  chosen,
  onChange,
  wrong,
}: {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  readonly wrong?: string | undefined;
}) {
  const isAll = chosen.includes('*');
  const toggle = (type: string) =>
    onChange(chosen.includes(type) ? chosen.filter((other) => other !== type) : [...chosen, type]);
  return (
    <fieldset className="choices">
      <legend>Events</legend>
      <Choice
        type="checkbox"
        label="All events"
        hint="Also those that are added later"
        checked={isAll}
        onChange={() => onChange(isAll ? [] : ['*'])}
      />
      {eventTypes.map((type) => (
        <Choice
          key={type}
          type="checkbox"
          label={<code>{type}</code>}
          hint={abouts[type]}
          checked={isAll || chosen.includes(type)}
          disabled={isAll}
          onChange={() => toggle(type)}
        />
      ))}
      {wrong ? <p className="wrong field">{wrong}</p> : null}
    </fieldset>
  );
}
