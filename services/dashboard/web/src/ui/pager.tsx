import { useNavigate } from '@tanstack/react-router';
import { uiTexts } from '../texts/ui.ts';
import { Button } from './button.tsx';

/** Buttons for the previous and the next page. Each page has its own URL. */
export function Pager({
  total,
  next,
  previous,
}: {
  readonly total?: number | undefined;
  readonly next: string | null;
  /** Undefined for forward-only lists, where the browser's back button opens the previous page. */
  readonly previous?: string | null;
}) {
  const texts = uiTexts();
  const navigate = useNavigate();
  const go = (cursor: string) =>
    void navigate({ to: '.', search: (search: Record<string, unknown>) => ({ ...search, cursor }) as never });
  if (total === undefined && !next) return null;
  return (
    <div className="table-foot">
      <span>{total === undefined ? '' : texts.total(total)}</span>
      <div className="row">
        {previous === undefined ? null : (
          <Button small disabled={!previous} onClick={() => go(previous ?? '')}>
            {texts.previous}
          </Button>
        )}
        <Button small disabled={!next} onClick={() => go(next ?? '')}>
          {texts.next}
        </Button>
      </div>
    </div>
  );
}
