import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes a broker listen by TLS as well: on one port with a password (SASL), on another to client certificates. */
export interface KafkaSecurity {
  /** Signs the certificates of clients. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** May log in by PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. */
  readonly username: string;
  readonly password: string;
}

export interface SecureListeners extends KafkaSecurity {
  readonly saslPort: number;
  readonly mutualPort: number;
}

const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512'];
const logins = 'org.apache.kafka.common.security';

/** What a broker's properties say beside the usual; the lists of listeners are joined to the usual ones. */
export function secureProperties(secure: SecureListeners, folder: string) {
  const { caFile, certFile, keyFile, username, password, saslPort, mutualPort } = secure;
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
    } as Record<string, string>,
  };
}

/** What the formatting of the data folder has to be told: SCRAM passwords are data. */
export function scramArguments({ username, password }: KafkaSecurity): string[] {
  return scram.flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=${username},password=${password}]`]);
}
