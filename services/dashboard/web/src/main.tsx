import './styles/tokens.css';
import './styles/base.css';
import './styles/layout.css';
import './styles/ui.css';
import 'uplot/dist/uPlot.min.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { applyTheme } from './layout/theme.ts';
import { router } from './router.tsx';
import { Toasts } from './ui/toasts.tsx';

const element = document.getElementById('root');
if (!element) throw new Error('the page has no #root');
const root = createRoot(element);

function render(pages: ReactNode): void {
  root.render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        {pages}
        <Toasts />
      </QueryClientProvider>
    </StrictMode>,
  );
}

if (/^\/portal(?:\/|$)/.test(location.pathname)) {
  const { showPortal } = await import('./portal/show-portal.tsx');
  await showPortal(render);
} else {
  applyTheme();
  render(<RouterProvider router={router} />);
}
