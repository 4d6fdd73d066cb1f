export { type GatewayConfig, readGatewayConfig } from './config.ts';
export { type CallTimeouts, createGatewayContext, type GatewayContext } from './context.ts';
export { createGateway, type GatewayService } from './service.ts';
