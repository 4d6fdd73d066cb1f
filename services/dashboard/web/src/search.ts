/** The filters of a page, as its address has them: each a text, or not there. */
export function textSearch<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): { [Key in Name]?: string } => {
    const found: { [Key in Name]?: string } = {};
    for (const name of names) {
      const value = search[name];
      // The router reads "1" as a number and "true" as a truth.
      if (value !== undefined && value !== null && value !== '' && typeof value !== 'object')
        found[name] = String(value);
    }
    return found;
  };
}
