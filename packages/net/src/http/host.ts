const form = /^(?:[\w.-]{1,255}|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/i;

/**
 * Returns whether a text is a host with an optional port, which can be empty (RFC 9110, 7.2). Rejects hosts and ports
 * that a URL cannot contain, such as 1.2.3.999 or 99999: links in responses would be invalid.
 */
export function isHost(text: string): boolean {
  return form.test(text) && URL.canParse(`http://${text}`);
}
