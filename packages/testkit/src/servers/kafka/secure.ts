import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Adds TLS listeners to a broker: one port with SASL authentication, another with client certificates. */
export interface KafkaSecurity {
  /** CA that signs client certificates. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** Login for PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. */
  readonly username: string;
  readonly password: string;
  /** Whether the user has only the rights that a test grants. Clients of the plaintext listener have all rights. */
  readonly restricted?: boolean;
}

export interface SecureListeners extends KafkaSecurity {
  readonly saslPort: number;
  readonly mutualPort: number;
}

const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512'];
const logins = 'org.apache.kafka.common.security';

/** Returns additional broker properties. The caller appends the lists of listeners to the default lists. */
export function secureProperties(secure: SecureListeners, folder: string) {
  const { caFile, certFile, keyFile, username, password, restricted, saslPort, mutualPort } = secure;
  const keystore = join(folder, 'broker.pem');
  writeFileSync(keystore, Buffer.concat([readFileSync(keyFile), readFileSync(certFile)]), { mode: 0o600 });
  const perMechanism = scram.map((mechanism) => [
    `listener.name.sasl.${mechanism.toLowerCase()}.sasl.jaas.config`,
    `${logins}.scram.ScramLoginModule required;`,
  ]);
  return {
    listeners: `SASL://127.0.0.1:${saslPort},MUTUAL://127.0.0.1:${mutualPort}`,
    protocols: 'SASL:SASL_SSL,MUTUAL:SSL',
    properties: {
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keystore,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': caFile,
      'listener.name.mutual.ssl.client.auth': 'required',
      'listener.name.sasl.sasl.enabled.mechanisms': ['PLAIN', ...scram].join(','),
      'listener.name.sasl.plain.sasl.jaas.config': `${logins}.plain.PlainLoginModule required user_${username}="${password}";`,
      ...Object.fromEntries(perMechanism),
      ...(restricted && {
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS',
      }),
    } as Record<string, string>,
  };
}

/** Returns arguments for formatting the data folder, because SCRAM passwords are stored as data. */
export function scramArguments({ username, password }: KafkaSecurity): string[] {
  return scram.flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=${username},password=${password}]`]);
}
