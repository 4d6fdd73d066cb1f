import {
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  ResponseBodyError,
  type ServerMetadata,
  WWWAuthenticateChallengeError,
} from 'openid-client';

const methods = { client_secret_post: ClientSecretPost, client_secret_basic: ClientSecretBasic };
type Method = keyof typeof methods;

/** Sends the client secret in the body or as Basic authentication. */
export interface ClientAuthentication {
  readonly authenticate: ClientAuth;
  /**
   * Runs `exchange`. If the provider refuses the client, runs it once more with the other method, because some providers
   * accept only one of their methods for a client. They refuse a client before they use up its code.
   */
  exchange<T>(server: ServerMetadata, exchange: () => Promise<T>): Promise<T>;
}

export function createClientAuthentication(clientSecret: () => string): ClientAuthentication {
  let preferred: Method = 'client_secret_post';
  const methodsOf = ({ token_endpoint_auth_methods_supported: supported }: ServerMetadata): Method[] => {
    const all: Method[] = [preferred, otherThan(preferred)];
    const usable = all.filter((method) => supported?.includes(method) ?? true);
    return usable.length > 0 ? usable : all;
  };
  return {
    authenticate: (server, ...rest) => {
      const [method = preferred] = methodsOf(server);
      methods[method](clientSecret())(server, ...rest);
    },
    async exchange(server, exchange) {
      try {
        return await exchange();
      } catch (error) {
        if (!isClientRefused(error) || methodsOf(server).length < 2) throw error;
        preferred = otherThan(preferred);
        return exchange();
      }
    },
  };
}

/** Returns whether the provider does not accept the client or its secret (RFC 6749, 5.2). */
export function isClientRefused(error: unknown): boolean {
  if (error instanceof WWWAuthenticateChallengeError) return error.status === 401;
  return error instanceof ResponseBodyError && ['invalid_client', 'unauthorized_client'].includes(error.error);
}

function otherThan(method: Method): Method {
  return method === 'client_secret_post' ? 'client_secret_basic' : 'client_secret_post';
}
