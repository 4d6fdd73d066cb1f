/** Returns a line per text in a page that the portal shows, the shared components included. */
export function portalTexts(root: string): string[];

/** Returns the texts in a module of pages. `tsx`: whether it has JSX. */
export function inlineTexts(source: string, tsx?: boolean): string[];
