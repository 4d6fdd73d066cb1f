import { useRouter } from '@tanstack/react-router';
import { Button } from '../ui/button.tsx';
import { ErrorNote } from '../ui/notes.tsx';

/** In place of a page that could not be shown. */
export function Failed({ error }: { readonly error: unknown }) {
  const router = useRouter();
  return (
    <main className="narrow">
      <div className="card stack">
        <h1>The page could not be shown</h1>
        <ErrorNote error={error} />
        <Button look="main" onClick={() => void router.invalidate()}>
          Try again
        </Button>
      </div>
    </main>
  );
}
