import type { ResourceDocument, ResourceStatusName } from '../../../../src/documents/resource.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

const tones: Readonly<Record<ResourceStatusName, Tone>> = { active: 'good', inactive: 'warn', archived: 'plain' };
const texts: Readonly<Record<ResourceStatusName, string>> = {
  active: 'Active',
  inactive: 'Inactive',
  archived: 'Archived',
};

export const statusOptions = Object.entries(texts);

export function ResourceStatusBadge({ of: { status } }: { readonly of: Pick<ResourceDocument, 'status'> }) {
  return <Badge tone={tones[status]}>{texts[status]}</Badge>;
}
