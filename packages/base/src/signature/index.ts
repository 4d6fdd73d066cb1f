export { type DeliveryContent, deliveryHeaderNames, deliveryHeaders } from './delivery-headers.ts';
export {
  isWellFormedSecret,
  makeSecret,
  type SigningSecret,
  type SigningSecrets,
  signatureHeaders,
  toSigningSecret,
} from './signature.ts';
export { statusError } from './status-error.ts';
