import { type ReactNode, useEffect } from 'react';
import { uiTexts } from '../texts/ui.ts';
import { Brand } from './brand.tsx';

/** Layout of pages outside a workspace: sign-in, and the pages that email links open. */
export function CenteredPage({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  useEffect(() => {
    document.title = uiTexts().documentTitle(title);
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
