import type { Resource } from '@rms/api';
import { Badge, type Tone } from '../../ui/badge.tsx';

const tones: Readonly<Record<Resource['status'], Tone>> = { active: 'good', inactive: 'warn', archived: 'plain' };
const texts: Readonly<Record<Resource['status'], string>> = {
  active: 'Active',
  inactive: 'Inactive',
  archived: 'Archived',
};

export const statusOptions = Object.entries(texts);

export function ResourceStatusBadge({ of: { status } }: { readonly of: Pick<Resource, 'status'> }) {
  return <Badge tone={tones[status]}>{texts[status]}</Badge>;
}
