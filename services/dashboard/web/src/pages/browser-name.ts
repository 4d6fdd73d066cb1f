const browsers = [
  ['Edge', /Edg\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /Firefox\/(\d+)/],
  ['Chrome', /Chrome\/(\d+)/],
  ['Safari', /Version\/(\d+).* Safari\//],
] as const;
const systems = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows NT/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const;

/** "Firefox 140 on Linux", as far as a User-Agent header tells; else the header. */
export function browserName(userAgent: string): string {
  if (userAgent === '') return 'unknown';
  const browser = browsers.find(([, form]) => form.test(userAgent));
  const system = systems.find(([, form]) => form.test(userAgent))?.[0];
  if (!browser) return userAgent.slice(0, 80);
  const version = browser[1].exec(userAgent)?.[1];
  return `${browser[0]} ${version}${system ? ` on ${system}` : ''}`;
}
