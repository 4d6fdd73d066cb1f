import { tabStorage } from '../browser/storage.ts';

/** Returns the token of an email link: "#…" or "#token=…". Browsers do not send the fragment to servers. */
export function linkToken(): string {
  const fragment = location.hash.slice(1);
  return new URLSearchParams(fragment).get('token') ?? fragment;
}

/** Returns the link's token and stores it in the tab's session storage, so that it survives signing in. */
export function storeLinkToken(name: string): string {
  const token = linkToken();
  if (token !== '') tabStorage.set(`rms-${name}`, token);
  return token === '' ? (tabStorage.get(`rms-${name}`) ?? '') : token;
}
