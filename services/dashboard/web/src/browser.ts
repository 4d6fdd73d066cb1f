// Interfaces that browsers offer only to some pages. Only this file uses `crypto` and `navigator` (see biome.json),
// because over HTTP, except on loopback, `navigator.clipboard`, `crypto.randomUUID` and `crypto.subtle` are undefined.

/** Returns 128 random bits in hexadecimal. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Copies a text to the clipboard. Returns whether it succeeded. Call it from the event handler of a click.
 * @param near the element clicked. Outside of its dialog, a modal dialog prevents selection.
 */
export async function copyText(text: string, near: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text, near);
  }
}

/** Copies through a selected text field, which is deprecated but needs neither HTTPS nor a permission. */
function copySelected(text: string, near: Element): boolean {
  const focused = document.activeElement;
  const field = document.createElement('textarea');
  field.className = 'visually-hidden';
  field.value = text;
  (near.closest('dialog') ?? document.body).append(field);
  field.focus({ preventScroll: true });
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return isCopied;
}
