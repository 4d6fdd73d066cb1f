/** The token of a link out of a mail: "#…" or "#token=…", which browsers send to nobody. */
export function linkToken(): string {
  const fragment = location.hash.slice(1);
  return new URLSearchParams(fragment).get('token') ?? fragment;
}

/** The same, also after signing in meanwhile: this tab keeps it. */
export function keptLinkToken(name: string): string {
  const token = linkToken();
  if (token !== '') sessionStorage.setItem(`rms-${name}`, token);
  return token === '' ? (sessionStorage.getItem(`rms-${name}`) ?? '') : token;
}
