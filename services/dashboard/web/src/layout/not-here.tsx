import { Link } from '@tanstack/react-router';
import { buttonClass } from '../ui/button.tsx';
import { Empty } from '../ui/notes.tsx';

/** For an address that leads nowhere, or to what is not this person's: which of both is not told. */
export function NotHere() {
  return (
    <main className="narrow">
      <Empty
        icon="requests"
        isPage
        title="There is nothing at this address"
        action={
          <Link to="/" className={buttonClass('main')}>
            Go to the overview
          </Link>
        }
      >
        What was here may have been deleted, or belongs to a workspace that you are not a member of.
      </Empty>
    </main>
  );
}
