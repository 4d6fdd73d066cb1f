import { uiTexts } from '../texts/ui.ts';
import { closeToast, useToasts } from '../toasts.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import { ErrorNote } from './notes.tsx';

export function Toasts() {
  const shown = useToasts();
  return (
    <>
      <div className="toasts" role="status">
        {shown
          .filter(({ error }) => !error)
          .map(({ id, text }) => (
            <div className="toast" key={id}>
              {text}
            </div>
          ))}
      </div>
      <div className="toasts toasts-bad">
        {shown
          .filter(({ error }) => error)
          .map(({ id, text, error }) => (
            <div className="toast-bad" key={id}>
              <div className="row">
                <strong>{text}</strong>
                <Button
                  variant="plain"
                  className="button-icon"
                  aria-label={uiTexts().closeMessage}
                  onClick={() => closeToast(id)}
                >
                  <Icon name="close" />
                </Button>
              </div>
              <ErrorNote error={error} />
            </div>
          ))}
      </div>
    </>
  );
}
