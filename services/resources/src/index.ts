export { type ResourcesConfig, readResourcesConfig } from './config.ts';
export { createResourcesContext, type ResourcesContext } from './context.ts';
export { createResources } from './service.ts';
