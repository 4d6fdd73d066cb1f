const paths = {
  overview: 'M3 12.5 8 7l4 4 5-6M3 17h14',
  resources: 'M10 2.5 17 6v8l-7 3.5L3 14V6l7-3.5ZM3 6l7 3.5L17 6M10 9.5v8',
  webhooks: 'M7 8a3 3 0 1 1 4.2 2.7l2.3 4M9 10.2 6.8 14M5.5 16.5a2 2 0 1 1 1.6-3.2h6.4M14.5 17.5a2 2 0 1 0-1-3.7',
  deliveries: 'M3 5h14v10H3zM3 6l7 5 7-5',
  events: 'M4 5.500h12M4 10h12M4 14.500h7',
  requests: 'M9 15a6 6 0 1 1 0-12 6 6 0 0 1 0 12Zm4.5-1.5L17 17',
  keys: 'M12.5 11a4 4 0 1 0-3.7-2.5L3 14.2V17h3v-2h2v-2l1.5-1.5c.9-.3 2-.5 3-.5Zm1-5v.01',
  team: 'M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 16.5c.3-3 2.3-4.5 5-4.5s4.700 1.500 5 4.500M13.500 9a2.500 2.500 0 1 0-1-4.800M14.500 12c1.800.4 2.800 1.800 3 4',
  alerts:
    'M10 3a4.500 4.500 0 0 1 4.500 4.500c0 4 1.500 5 1.500 5H4s1.500-1 1.500-5A4.500 4.500 0 0 1 10 3ZM8.500 15.500a1.600 1.600 0 0 0 3 0',
  limits: 'M3.500 14.500a7 7 0 1 1 13 0M10 12l3.500-4',
  audit: 'M5 3h7l3 3v11H5zM8 9h4M8 12h4',
  copy: 'M7 7V4h9v9h-3M4 7h9v9H4z',
  check: 'm4 10.500 4 4 8-9',
  close: 'm5 5 10 10M15 5 5 15',
  menu: 'M3 5.500h14M3 10h14M3 14.500h14',
  account: 'M10 10a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7ZM3.500 17c.5-3.500 3-5 6.500-5s6 1.500 6.500 5',
  out: 'M8 4H4v12h4M12.500 6.500 16 10l-3.500 3.500M16 10H8',
} as const;

export type IconName = keyof typeof paths;

/** Decorative icon next to a text. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      viewBox="0 0 20 20"
      width="18"
      height="18"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      aria-hidden="true"
    >
      <path d={paths[name]} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
