import type { ReactNode } from 'react';

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain';

/** Label for a state. The color carries no information beyond the text. */
export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  );
}
