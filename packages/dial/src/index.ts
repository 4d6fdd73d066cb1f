export { type ConnectOptions, connect } from './connect.ts';
export { type DialOptions, dial } from './dial.ts';
export { findAddresses, type Resolve, type SelectAddresses } from './find-addresses.ts';
export { createHttpConnections } from './http-connections.ts';
export { PendingSocket } from './pending-socket.ts';
export { lookupAddresses } from './system-addresses.ts';
