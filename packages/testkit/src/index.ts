export { freePort } from './free-port.ts';
export { type ReceivedRequest, type Receiver, startReceiver } from './receiver.ts';
export { type TestDatabase, testDatabase } from './test-database.ts';
export { waitUntil } from './wait-until.ts';
