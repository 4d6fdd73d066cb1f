export {
  type DeliveryContent,
  deliveryHeaderNames,
  deliveryHeaders,
  isWellFormedSecret,
  makeSecret,
  type SigningSecret,
  type SigningSecrets,
  signatureHeaders,
  statusError,
  toSigningSecret,
} from './signature.ts';
