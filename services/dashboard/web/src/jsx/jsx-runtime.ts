import type { ElementType, Key, ReactElement } from 'react';
import { jsx as createElement, jsxs as createStatic } from 'react/jsx-runtime';
import { separateText } from './separate-text.ts';

export type { JSX } from 'react/jsx-runtime';
export { Fragment } from 'react/jsx-runtime';

/** Creates the elements of JSX, as tsconfig.json and vite.config.mjs specify, with {@link separateText}. */
export function jsx(type: ElementType, props: object, key?: Key): ReactElement {
  return createElement(type, separateText(type, props), key);
}

/** Like {@link jsx}, for several children in a constant number. */
export function jsxs(type: ElementType, props: object, key?: Key): ReactElement {
  return createStatic(type, separateText(type, props), key);
}
