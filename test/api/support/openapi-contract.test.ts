import { createContract, type WireAnswer } from './openapi-contract.ts';

const error = { $ref: '#/components/schemas/Error' };
const contract = createContract({
  openapi: '3.1.1',
  info: { title: 'Things', version: '1' },
  paths: {
    '/v1/things/{id}': {
      parameters: [],
      get: {
        responses: {
          200: { content: { 'application/json': { schema: { type: 'object', required: ['data'] } } } },
          404: { $ref: '#/components/responses/NotFound' },
        },
      },
      delete: { responses: { 204: { description: 'Gone' } } },
    },
  },
  components: {
    responses: { NotFound: { content: { 'application/json': { schema: error } } } },
    schemas: { Error: { type: 'object', required: ['error'], properties: { error: { required: ['code'] } } } },
  },
} as Parameters<typeof createContract>[0]);

const answer = (changes: Partial<WireAnswer>): WireAnswer => ({
  method: 'GET',
  path: '/v1/things/1?x=1',
  status: 200,
  headers: { 'x-request-id': 'req_12345678', 'content-type': 'application/json' },
  text: '{"data":{}}',
  ...changes,
});
const notFound = '{"error":{"code":"not_found","message":"No.","status":404}}';

describe('The contract', () => {
  test('takes what the document allows', () => {
    contract.check(answer({}));
    contract.check(answer({ status: 404, text: notFound }));
    contract.check(answer({ method: 'DELETE', status: 204, text: '', headers: { 'x-request-id': 'req_12345678' } }));
    expect([...contract.seen]).toContain('DELETE /v1/things/{id} 204');
    expect(contract.operations).toEqual(['GET /v1/things/{id}', 'DELETE /v1/things/{id}']);
  });

  test.each([
    ['a body that does not fit the schema', answer({ text: '{}' }), /required property 'data'/],
    [
      'a status that is not documented',
      answer({ status: 418, text: notFound.replace('404', '418') }),
      /not in the OpenAPI/,
    ],
    ['a body where none is promised', answer({ method: 'DELETE', status: 204, text: 'x' }), /promises no body/],
    ['a missing X-Request-ID', answer({ headers: { 'content-type': 'application/json' } }), /no X-Request-ID/],
    ['an error without its form', answer({ status: 404, text: '{"message":"No."}' }), /required property 'error'/],
    [
      'an error of another status',
      answer({ status: 404, text: notFound.replace('404', '400') }),
      /differs from the status/,
    ],
    ['another content type', answer({ headers: { 'x-request-id': 'req_12345678' } }), /content type/],
  ])('refuses %s', (_, wrong, reason) => {
    expect(() => contract.check(wrong)).toThrow(reason);
  });
});
