import { useNavigate } from '@tanstack/react-router';
import { Button } from './button.tsx';

/** The ways to the next and the previous page; each has an address of its own. */
export function Pager({
  total,
  next,
  previous,
}: {
  readonly total?: number | undefined;
  readonly next: string | null;
  /** Undefined: lists that go forwards only have the browser's way back. */
  readonly previous?: string | null;
}) {
  const navigate = useNavigate();
  const go = (cursor: string) =>
    void navigate({ to: '.', search: (search: Record<string, unknown>) => ({ ...search, cursor }) as never });
  if (total === undefined && !next) return null;
  return (
    <div className="table-foot">
      <span>{total === undefined ? '' : `${total.toLocaleString()} in all`}</span>
      <div className="row">
        {previous === undefined ? null : (
          <Button small disabled={!previous} onClick={() => go(previous ?? '')}>
            Previous
          </Button>
        )}
        <Button small disabled={!next} onClick={() => go(next ?? '')}>
          Next
        </Button>
      </div>
    </div>
  );
}
