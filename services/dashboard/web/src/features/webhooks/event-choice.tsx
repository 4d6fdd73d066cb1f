import { type EventType, operationalEventTypes, resourceEventTypes } from '@rms/base/webhook-events';
import { webhookTexts } from '../../texts/webhooks.ts';
import { Choice } from '../../ui/field.tsx';

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
  const texts = webhookTexts();
  const isAll = selected.includes('*');
  const chosen: readonly string[] = isAll ? resourceEventTypes : selected;
  const toggle = (type: string) =>
    onChange(chosen.includes(type) ? chosen.filter((other) => other !== type) : [...chosen, type]);
  const choiceOf = (type: EventType, disabled: boolean) => (
    <Choice
      key={type}
      type="checkbox"
      label={<code>{type}</code>}
      hint={texts.eventDescriptions[type]}
      checked={chosen.includes(type)}
      disabled={disabled}
      onChange={() => toggle(type)}
    />
  );
  return (
    <>
      <fieldset className="choices">
        <legend>{texts.resourceEvents}</legend>
        <Choice
          type="checkbox"
          label={texts.allResourceEvents}
          hint={texts.allResourceEventsHint}
          checked={isAll}
          onChange={() => onChange(isAll ? [] : ['*'])}
        />
        {resourceEventTypes.map((type) => choiceOf(type, isAll))}
        {error ? <p className="field-error">{error}</p> : null}
      </fieldset>
      <fieldset className="choices">
        <legend>{texts.operationalEvents}</legend>
        {operationalEventTypes.map((type) => choiceOf(type, false))}
      </fieldset>
    </>
  );
}
