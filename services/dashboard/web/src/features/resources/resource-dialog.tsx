import type { Resource } from '@rms/api';
import { metadataLimits, resourceNameLength } from '@rms/base/value-rules';
import { useState } from 'react';
import { fieldError } from '../../api/client.ts';
import { type One, useTenantChange } from '../../api/tenant.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { statusOptions } from './resource-status.tsx';

/** Dialog for creating or editing a resource. */
export function ResourceDialog({
  of: resource,
  onClose,
  onDone,
}: {
  /** Undefined: create a resource. */
  readonly of?: Resource;
  readonly onClose: () => void;
  readonly onDone: (resource: Resource) => void;
}) {
  const [metadataError, setMetadataError] = useState<string>();
  const save = useTenantChange<One<Resource>>(({ data }) => onDone(data));
  return (
    <Dialog title={resource ? 'Edit resource' : 'Create resource'} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const text = (name: string) => String(form.get(name) ?? '');
          const metadata = readMetadata(text('metadata'));
          setMetadataError(typeof metadata === 'string' ? metadata : undefined);
          if (typeof metadata === 'string') return;
          const name = text('name');
          save.mutate(
            resource
              ? { method: 'PATCH', path: `/resources/${resource.id}`, body: { name, status: text('status'), metadata } }
              : { method: 'POST', path: '/resources', body: { name, type: text('type') || undefined, metadata } },
          );
        }}
      >
        <TextField
          label="Name"
          name="name"
          defaultValue={resource?.name}
          maxLength={resourceNameLength}
          error={fieldError(save.error, 'name')}
          required
        />
        {resource ? (
          <SelectField label="Status" name="status" defaultValue={resource.status} options={statusOptions} />
        ) : (
          <SelectField
            label="Type"
            name="type"
            options={[
              ['', 'Not set'],
              ['standard', 'standard'],
              ['advanced', 'advanced'],
            ]}
          />
        )}
        <TextArea
          label="Metadata"
          name="metadata"
          rows={6}
          className="input-code"
          spellCheck={false}
          defaultValue={resource ? JSON.stringify(resource.metadata, null, 2) : '{}'}
          hint={`A JSON object with string values: at most ${metadataLimits.pairs} pairs, keys of ${metadataLimits.keyLength} and values of ${metadataLimits.valueLength} characters.`}
          error={metadataError ?? fieldError(save.error, 'metadata')}
        />
        <ErrorNote error={save.error} fields={['name', 'metadata']} />
        <DialogFooter onClose={onClose} busy={save.isPending}>
          {resource ? 'Save' : 'Create resource'}
        </DialogFooter>
      </form>
    </Dialog>
  );
}

/** Returns the metadata, or an error message. */
function readMetadata(text: string): Record<string, string> | string {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be a JSON object';
    return value as Record<string, string>;
  } catch (error) {
    return `is not JSON: ${(error as Error).message}`;
  }
}
