import type { FieldValue } from '@rms/base/audit-change';
import { z } from 'zod';
import { shownTime } from '../field-schemas.ts';
import { listOf, noTotal } from '../list.ts';

const valueText = 'A string, number or boolean, or a list of strings.';
/** Typed, but any value in the OpenAPI document: generators of clients mistype such unions. */
const fieldValue = z.unknown() as unknown as z.ZodType<FieldValue>;

export const auditEntry = z
  .strictObject({
    id: z.string().meta({ pattern: '^aud_[0-9a-z]+$', examples: ['aud_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('audit_entry'),
    action: z.string().meta({ examples: ['key.created'] }),
    actor: z
      .string()
      .describe('`key:` or `user:` with an ID, `operator:` with a name, or `system`.')
      .meta({ examples: ['key:key_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    actor_name: z
      .string()
      .nullable()
      .describe('Name of the key, or email address of the user, at that time. Null: unknown, or `actor` is a name.')
      .meta({ examples: ['ci-deploy'] }),
    target_id: z.string().describe('ID of the changed object, or its name if it has no ID.'),
    target_name: z.string().nullable().describe('Name of the changed object at that time. Null: it has none.'),
    environment: z.enum(['live', 'sandbox']).nullable().describe('Null: the change concerns both environments.'),
    client_ip: z.string().nullable(),
    request_id: z.string().nullable(),
    changes: z
      .array(
        z
          .strictObject({
            field: z.string().meta({ examples: ['url'] }),
            before: fieldValue.describe(`${valueText} Null: the field was not set.`),
            after: fieldValue.describe(`${valueText} Null: the field is no longer set.`),
          })
          .meta({ id: 'AuditChange' }),
      )
      .describe(
        'Changed fields, at most 100. Secrets are `[secret]`. A value has at most 500 characters, fewer if many fields ' +
          'changed; `…` marks where a value or the list was cut.',
      ),
    details: z
      .record(z.string(), z.unknown())
      .describe('Further facts, such as the method of a sign-in. Never contains secrets.'),
    created_at: shownTime,
  })
  .meta({ id: 'AuditEntry' });

export const auditEntryList = listOf(auditEntry, noTotal).meta({ id: 'AuditLog' });

/** A change in the audit log. */
export type AuditEntry = z.infer<typeof auditEntry>;
