import { DelayReason, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { enumNames } from '@rms/rpc/enum-names';

export const deliveryStatuses = enumNames(DeliveryStatus);
export const delayReasons = enumNames(DelayReason);
