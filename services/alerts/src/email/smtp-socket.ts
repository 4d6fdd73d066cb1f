import { connect, type LookupFunction, type Socket } from 'node:net';

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** Time for the lookup and the connection. */
  readonly timeoutMs: number;
  /** Defaults to the system's resolver. */
  readonly lookup?: LookupFunction | undefined;
}

/**
 * Connects to an SMTP server. Looks its name up for every connection, so that a server that has moved is found.
 * nodemailer would keep the addresses of a name for five minutes, and longer if lookups fail.
 */
export function openSmtpSocket({ host, port, timeoutMs, lookup }: SmtpServer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, autoSelectFamily: true, ...(lookup ? { lookup } : {}) });
    const timer = setTimeout(() => socket.destroy(new Error(`no connection to ${host}:${port} in time`)), timeoutMs);
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    // Stays attached: the connection can break before the caller listens.
    socket.on('error', reject);
    socket.once('close', () => clearTimeout(timer));
  });
}
