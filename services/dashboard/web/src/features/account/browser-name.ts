const browsers = [
  ['Edge', /Edg\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /Firefox\/(\d+)/],
  ['Chrome', /Chrome\/(\d+)/],
  ['Safari', /^(?=.* Safari\/).*?Version\/(\d+)/],
] as const;
const systems = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows NT/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const;

/** Returns a name such as "Firefox 140 on Linux", or the User-Agent itself if the browser is unknown. */
export function browserName(userAgent: string): string {
  if (userAgent === '') return 'unknown';
  const browser = browsers.find(([, pattern]) => pattern.test(userAgent));
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0];
  if (!browser) return userAgent.slice(0, 80);
  const version = browser[1].exec(userAgent)?.[1];
  return `${browser[0]} ${version}${system ? ` on ${system}` : ''}`;
}
