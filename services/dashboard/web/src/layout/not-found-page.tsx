import { Link } from '@tanstack/react-router';
import { buttonClass } from '../ui/button.tsx';
import { Empty } from '../ui/notes.tsx';

/** Page for an unknown URL. It does not reveal whether the object exists in a workspace that the user cannot access. */
export function NotFoundPage() {
  return (
    <main className="narrow">
      <Empty
        icon="requests"
        isPage
        title="Page not found"
        action={
          <Link to="/" className={buttonClass('main')}>
            Go to overview
          </Link>
        }
      >
        The object may have been deleted, or it belongs to a workspace that you are not a member of.
      </Empty>
    </main>
  );
}
