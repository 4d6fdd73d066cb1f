import { z } from 'zod';

const status = z.enum(['active', 'inactive', 'archived']);

// Length is counted in code points by the resources service; JSON Schema counts the same way.
const name = z.string().meta({ minLength: 1, maxLength: 255, description: 'Human-readable name.', example: 'Grüße' });

/** Read as it is, without a copy by key: "__proto__" is a key like any other. */
const metadata = z
  .unknown()
  .superRefine((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      context.addIssue({ code: 'custom', message: 'must be an object of strings' });
      return;
    }
    for (const [key, item] of Object.entries(value)) {
      if (typeof item !== 'string') context.addIssue({ code: 'custom', path: [key], message: 'must be a string' });
    }
  })
  .meta({
    description: 'At most 50 pairs; keys of up to 40, values of up to 500 characters.',
    override: {
      type: 'object',
      maxProperties: 50,
      propertyNames: { type: 'string', minLength: 1, maxLength: 40 },
      additionalProperties: { type: 'string', maxLength: 500 },
    },
    example: { team: 'blue' },
  }) as z.ZodType<Record<string, string>>;

const timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC.', example: '2026-01-02T03:04:05.678Z' });

export const createResourceBody = z
  .strictObject({
    name,
    type: z.enum(['standard', 'advanced']).default('standard').meta({ description: 'Stored, not returned.' }),
    metadata: metadata.optional(),
  })
  .meta({ id: 'CreateResource' });

export const updateResourceBody = z
  .strictObject({ name: name.optional(), status: status.optional(), metadata: metadata.optional() })
  .meta({
    id: 'UpdateResource',
    description: 'Only the fields that are sent change; metadata is replaced as a whole.',
  });

const perPage = z
  .string()
  .regex(/^(?:[1-9][0-9]?|100)$/, 'must be a whole number from 1 to 100')
  .transform(Number)
  .default(20)
  .meta({ description: 'Page size.', override: { type: 'integer', minimum: 1, maximum: 100, default: 20 } });

const cursor = z.string().min(1).max(4096).meta({ description: 'Taken from links.next or links.prev.' });

export const pageQuery = z.strictObject({ per_page: perPage, cursor: cursor.optional() });

export const listResourcesQuery = z.strictObject({
  status: status.optional().meta({ description: 'Only resources of this status.' }),
  per_page: perPage,
  cursor: cursor.optional(),
  sort: z
    .enum(['created_at', '-created_at', 'updated_at', '-updated_at', 'name', '-name'])
    .default('-created_at')
    .meta({ description: 'A field; "-" in front means descending.' }),
});

export const resource = z
  .strictObject({
    id: z.string().meta({ example: 'res_01m7y7ft43e1288nbk01470g34' }),
    type: z.literal('resource'),
    status,
    name,
    metadata,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Resource' });

/** `{data: …}` around one object. */
export function single(schema: z.ZodType): z.ZodType {
  return z.strictObject({ data: schema });
}

/** The list envelope. */
export function list(schema: z.ZodType): z.ZodType {
  return z.strictObject({
    data: z.array(schema),
    meta: z.strictObject({
      total: z.int().min(0).meta({ description: 'All items under the filter.' }),
      page: z.int().min(1),
      per_page: z.int().min(1).max(100),
    }),
    links: z.strictObject({
      next: z.url().nullable().meta({ description: 'The next page; null if there is none.' }),
      prev: z.url().nullable().meta({ description: 'The previous page; null if there is none.' }),
    }),
  });
}

export { timestamp };
