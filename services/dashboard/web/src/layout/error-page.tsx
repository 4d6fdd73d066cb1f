import { useRouter } from '@tanstack/react-router';
import { uiTexts } from '../texts/ui.ts';
import { Button } from '../ui/button.tsx';
import { ErrorNote } from '../ui/notes.tsx';

export function ErrorPage({ error }: { readonly error: unknown }) {
  const router = useRouter();
  return (
    <main className="narrow">
      <div className="card stack">
        <h1>{uiTexts().pageFailed}</h1>
        <ErrorNote error={error} />
        <Button variant="main" onClick={() => void router.invalidate()}>
          {uiTexts().tryAgain}
        </Button>
      </div>
    </main>
  );
}
