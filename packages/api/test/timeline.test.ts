import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AuditEntrySchema } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { RequestSchema } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliverySchema, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { EventProgressSchema } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { timelineDocument, unknownTimeline } from '../src/request/timeline.ts';

const startMs = Date.parse('2026-03-04T05:06:07.000Z');
const at = (ms: number) => timestampFromMs(startMs + ms);
const environment = Environment.LIVE;

test('a request, its change, response, events, deliveries, attempts and redeliveries form one timeline', () => {
  const {
    steps,
    trace_ids: traceIds,
    audit_entries: entries,
  } = timelineDocument({
    ...unknownTimeline('req_1'),
    requests: [
      create(RequestSchema, {
        environment,
        startTime: at(0),
        method: 'POST',
        route: '/v1/resources/:id',
        status: 201,
        durationMs: 4.126,
        authenticatedMs: 1,
        limitedMs: 1.5,
        handledMs: 4,
        keyId: 'key_1',
        keyHint: 'sk_live_Ab…yz12',
        keyName: 'ci',
        traceId: 'a'.repeat(32),
      }),
    ],
    changes: [
      create(AuditEntrySchema, {
        id: 'aud_1',
        time: at(2),
        action: 'key.created',
        targetId: 'key_1',
        actor: 'key:key_2',
      }),
    ],
    events: [
      create(EventProgressSchema, {
        environment,
        id: 'evt_1',
        type: 'resource.created',
        resourceId: 'res_1',
        createTime: at(3),
        storeTime: at(9),
        position: 7n,
        busPartition: 2,
        busOffset: 5n,
        actor: 'user:usr_1',
        traceId: 'a'.repeat(32),
      }),
    ],
    deliveries: [
      create(DeliverySchema, {
        id: 'dlv_1',
        eventId: 'evt_1',
        eventType: 'resource.created',
        webhookId: 'wh_1',
        createTime: at(10),
        attempts: [
          { number: 1, startTime: at(11), statusCode: 500, error: 'status: 500', durationMs: 20 },
          { number: 2, startTime: at(70), statusCode: 200, durationMs: 30 },
        ],
      }),
      create(DeliverySchema, {
        id: 'dlv_2',
        eventId: 'evt_1',
        eventType: 'resource.created',
        webhookId: 'wh_2',
        status: DeliveryStatus.SKIPPED,
        createTime: at(10),
      }),
    ],
    redeliveries: [
      create(AuditEntrySchema, {
        id: 'aud_2',
        time: at(60),
        action: 'delivery.redelivered',
        targetId: 'dlv_1',
        actor: 'user:usr_2',
        actorName: 'b@example.com',
      }),
    ],
    emails: new Map([['user:usr_1', 'a@example.com']]),
  });
  expect(steps.map(({ text, outcome }) => [text, outcome])).toEqual([
    ['POST /v1/resources/{id} in live with key sk_live_Ab…yz12 (ci)', null],
    ['key.created key_1 by key:key_2', null],
    ['resource.created evt_1 of res_1 committed by a@example.com', null],
    ['responded 201 after 4.13 ms (key 1 ms, limits 0.5 ms, work 2.5 ms)', 'success'],
    ['evt_1 stored in the feed with sequence 7 (partition 2, offset 5)', null],
    ['resource.created evt_1 for wh_1 (dlv_1)', null],
    ['resource.created evt_1 for wh_2 (dlv_2): skipped because the webhook was disabled', null],
    ['attempt 1 of dlv_1 to wh_1: status: 500 in 20 ms', 'failure'],
    ['delivery.redelivered dlv_1 by "b@example.com" (user:usr_2)', null],
    ['attempt 2 of dlv_1 to wh_1: 200 in 30 ms', 'success'],
  ]);
  expect(traceIds).toEqual(['a'.repeat(32)]);
  expect(entries.map(({ id }) => id)).toEqual(['aud_1', 'aud_2']);
});

test('a caller without access to the audit log gets no audit entries', () => {
  const changes = [create(AuditEntrySchema, { id: 'aud_1', time: at(2), action: 'delivery.redelivered' })];
  const document = timelineDocument({ ...unknownTimeline('req_1'), redeliveries: changes, mayReadAudit: false });
  expect([document.audit_entries, document.steps.length]).toEqual([[], 1]);
});
