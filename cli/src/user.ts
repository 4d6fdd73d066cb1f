/** Parses the user argument of a command: an email address or an ID. */
export function userRef(emailOrId: string): { email: string } | { id: string } {
  return emailOrId.includes('@') ? { email: emailOrId } : { id: emailOrId };
}
