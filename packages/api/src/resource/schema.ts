import { InputType, ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { z } from 'zod';
import { problemOf, text, withoutNul } from '../text-schemas.ts';

const pairLimit = 50;
const keyLimit = 40;
const valueLimit = 500;

export const statusMessages = {
  active: ResourceStatus.ACTIVE,
  inactive: ResourceStatus.INACTIVE,
  archived: ResourceStatus.ARCHIVED,
} as const;

export const inputTypeMessages = { standard: InputType.STANDARD, advanced: InputType.ADVANCED } as const;

const name = text(1, 255).describe('Human-readable name. Its length is counted in Unicode code points.');
export const status = z.enum(['active', 'inactive', 'archived']).describe('New resources are `active`.');

const metadataDescription = 'At most 50 pairs. On update, an object replaces the existing metadata completely.';
const metadataShape = {
  type: 'object',
  maxProperties: pairLimit,
  propertyNames: { minLength: 1, maxLength: keyLimit, pattern: withoutNul },
  additionalProperties: { type: 'string', maxLength: valueLimit, pattern: withoutNul },
  description: metadataDescription,
} as const;

/**
 * Specification, "Metadata rules". Validated by hand so that the object is passed on unchanged, with keys such as
 * `__proto__` as plain data.
 */
export const metadata = z
  .unknown()
  .superRefine((value, context) => {
    const refuse = (message: string, ...path: string[]) => context.addIssue({ code: 'custom', path, message });
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      refuse('must be an object of strings');
      return;
    }
    const pairs = Object.entries(value);
    if (pairs.length > pairLimit) {
      refuse(`must have at most ${pairLimit} pairs, has ${pairs.length}`);
      return;
    }
    for (const [key, item] of pairs) {
      const keyProblem = problemOf(key, 1, keyLimit);
      if (keyProblem) refuse(`the key ${keyProblem}`, key);
      const problem = typeof item === 'string' ? problemOf(item, 0, valueLimit) : 'must be a string';
      if (problem) refuse(problem, key);
    }
  })
  .meta({ override: metadataShape }) as z.ZodType<Record<string, string>>;

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
