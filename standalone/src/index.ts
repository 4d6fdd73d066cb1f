export { createStandalone, type StandaloneContext } from './standalone.ts';
