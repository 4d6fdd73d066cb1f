/** A person as a command names them, by e-mail address or id, as requests do. */
export function whom(person: string): { email: string } | { id: string } {
  return person.includes('@') ? { email: person } : { id: person };
}
