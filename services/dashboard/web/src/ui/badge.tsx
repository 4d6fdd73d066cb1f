import type { ReactNode } from 'react';

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain';

/** A state, in a word; the colour says nothing that the word does not. */
export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  );
}
