import { type ReactNode, useEffect } from 'react';
import { Brand } from './brand.tsx';

/** A page outside any workspace: signing in, and what links out of mails lead to. */
export function Narrow({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · rms`;
  }, [title]);
  return (
    <main className="narrow">
      <Brand name="rms" />
      <div className="card stack">
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
