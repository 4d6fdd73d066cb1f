import { useRouter } from '@tanstack/react-router';
import { Button } from '../ui/button.tsx';
import { ErrorNote } from '../ui/notes.tsx';

export function ErrorPage({ error }: { readonly error: unknown }) {
  const router = useRouter();
  return (
    <main className="narrow">
      <div className="card stack">
        <h1>This page could not be loaded</h1>
        <ErrorNote error={error} />
        <Button variant="main" onClick={() => void router.invalidate()}>
          Try again
        </Button>
      </div>
    </main>
  );
}
