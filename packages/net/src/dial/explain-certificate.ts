/** Messages of TLS errors because no trusted CA has issued the server's certificate. Libraries replace the codes. */
const untrusted = /unable to verify the first certificate|self-signed certificate|unable to get (?:local )?issuer cert/;

/** Adds the setting with the CA to the message of an error if no trusted CA has issued the server's certificate. */
export function explainCertificate<E>(error: E, caSetting: string): E {
  if (error instanceof Error && untrusted.test(error.message))
    error.message += `; set ${caSetting} to the CA that issued the certificate of the server`;
  return error;
}
