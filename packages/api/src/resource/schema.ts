import { metadataFilterPairs, metadataLimits, metadataProblems, resourceNameLength } from '@rms/base/value-rules';
import { z } from 'zod';
import { text, withoutNul } from '../field-schemas.ts';
import { listOf } from '../list.ts';

const name = text(1, resourceNameLength).describe('Human-readable name. Its length is counted in Unicode code points.');
export const status = z.enum(['active', 'inactive', 'archived']).describe('New resources are `active`.');

const metadataDescription = `At most ${metadataLimits.pairs} pairs. On update, an object replaces the existing metadata completely.`;
const metadataShape = {
  type: 'object',
  maxProperties: metadataLimits.pairs,
  propertyNames: { minLength: 1, maxLength: metadataLimits.keyLength, pattern: withoutNul },
  additionalProperties: { type: 'string', maxLength: metadataLimits.valueLength, pattern: withoutNul },
  description: metadataDescription,
} as const;

/**
 * Metadata of a resource. Validated by hand so that the object is passed on unchanged, with keys such as
 * `__proto__` as plain data.
 */
export const metadata = z.unknown().superRefine(checkMetadata()).meta({ override: metadataShape }) as z.ZodType<
  Record<string, string>
>;

/** Filter of a list: `metadata[team]=blue`. */
export const metadataFilter = z
  .unknown()
  .superRefine(checkMetadata(metadataFilterPairs))
  .optional()
  .meta({
    param: { style: 'deepObject', explode: true },
    override: {
      ...metadataShape,
      maxProperties: metadataFilterPairs,
      description:
        `Only resources whose metadata contains these pairs, at most ${metadataFilterPairs}: \`metadata[team]=blue\`. ` +
        'Keys and values are compared exactly.',
    },
  }) as z.ZodType<Record<string, string> | undefined>;

function checkMetadata(maxPairs?: number) {
  return (value: unknown, context: z.RefinementCtx) => {
    if (value === undefined && maxPairs !== undefined) return;
    for (const { path, message } of metadataProblems(value, maxPairs)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  };
}

export const createResourceBody = z
  .strictObject({
    name,
    type: z
      .enum(['standard', 'advanced'])
      .optional()
      .meta({ override: { default: 'standard' } }),
    metadata: metadata.optional(),
  })
  .meta({ id: 'CreateResource', example: { name: 'My resource', metadata: { team: 'blue' } } });

export const updateResourceBody = z
  .strictObject({ name: name.optional(), status: status.optional(), metadata: metadata.optional() })
  .meta({ id: 'UpdateResource', example: { status: 'archived' } });

export const resource = z
  .strictObject({
    id: z.string().meta({ pattern: '^res_[0-9a-z]+$', examples: ['res_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('resource'),
    status,
    name,
    metadata,
    created_at: z.string().meta({ format: 'date-time', examples: ['2026-01-02T03:04:05.678Z'] }),
    updated_at: z.string().meta({ format: 'date-time', examples: ['2026-01-02T03:04:05.678Z'] }),
  })
  .meta({ id: 'Resource' });

export const oneResource = z.strictObject({ data: resource });
export const resourceList = listOf(resource, {
  total: z
    .int()
    .min(0)
    .nullable()
    .describe('Exact number of items that match the status. Null in a list by `name_prefix` or `metadata`.'),
}).meta({ id: 'ResourceList' });

/** The primary object of a workspace. */
export type Resource = z.infer<typeof resource>;

/** A resource as pages ask for it. */
export interface FullResource extends Resource {
  /** `type` of the create request; null if it had none. */
  readonly input_type: z.infer<typeof createResourceBody>['type'] | null;
}
