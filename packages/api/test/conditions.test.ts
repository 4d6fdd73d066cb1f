import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { isUnchanged, oneResponse } from '../src/endpoint.ts';

test.each(['', '-gzip', '--gzip', ';gzip', '-br', '-zstd', '-deflate'])(
  'each entity tag identifies its response after a proxy appended %j',
  (suffix) => {
    const request = new IncomingMessage(new Socket());
    const unrecognized = Array.from({ length: 5_000 }, (_, number) => {
      const response = oneResponse(200, { json: JSON.stringify({ number }), version: 1n });
      request.headers['if-none-match'] = `${String(response.headers?.ETag).slice(0, -1)}${suffix}"`;
      return isUnchanged(request, response) ? [] : [request.headers['if-none-match']];
    });
    expect(unrecognized.flat()).toEqual([]);
  },
);
