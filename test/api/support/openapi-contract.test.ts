import { createContract, type WireResponse } from './openapi-contract.ts';

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

const response = (changes: Partial<WireResponse>): WireResponse => ({
  method: 'GET',
  path: '/v1/things/1?x=1',
  status: 200,
  headers: { 'x-request-id': 'req_12345678', 'content-type': 'application/json' },
  text: '{"data":{}}',
  ...changes,
});
const notFound = '{"error":{"code":"not_found","message":"No.","status":404}}';

describe('The contract', () => {
  test('accepts responses that the document allows', () => {
    contract.check(response({}));
    contract.check(response({ status: 404, text: notFound }));
    contract.check(response({ method: 'DELETE', status: 204, text: '', headers: { 'x-request-id': 'req_12345678' } }));
    expect([...contract.seen]).toContain('DELETE /v1/things/{id} 204');
    expect(contract.operations).toEqual(['GET /v1/things/{id}', 'DELETE /v1/things/{id}']);
  });

  test.each([
    ['a body that does not fit the schema', response({ text: '{}' }), /required property 'data'/],
    [
      'a status that is not documented',
      response({ status: 418, text: notFound.replace('404', '418') }),
      /not in the OpenAPI/,
    ],
    ['a body where none is documented', response({ method: 'DELETE', status: 204, text: 'x' }), /documents no body/],
    ['a missing X-Request-ID', response({ headers: { 'content-type': 'application/json' } }), /no X-Request-ID/],
    [
      'an error without the error envelope',
      response({ status: 404, text: '{"message":"No."}' }),
      /required property 'error'/,
    ],
    [
      'an error whose status differs from the response',
      response({ status: 404, text: notFound.replace('404', '400') }),
      /differs from the status/,
    ],
    ['another content type', response({ headers: { 'x-request-id': 'req_12345678' } }), /content type/],
  ])('rejects %s', (_, wrong, reason) => {
    expect(() => contract.check(wrong)).toThrow(reason);
  });
});
