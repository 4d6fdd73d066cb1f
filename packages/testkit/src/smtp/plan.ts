/** Behavior of the server. Changes take effect immediately. */
export interface SmtpPlan {
  /** Rejection of MAIL FROM; undefined: accepted. */
  readonly refuseSender?: { readonly code: number; readonly text: string };
  /** Rejection of RCPT TO; undefined: accepted. */
  readonly refuseRecipient?: { readonly code: number; readonly text: string };
  /** Rejection after the whole message; undefined: accepted. */
  readonly refuseEmail?: { readonly code: number; readonly text: string };
  /** Records a message but never responds to it. */
  readonly neverResponds?: true;
}

export interface SmtpSettings {
  readonly port: number;
  readonly recordFile: string;
  readonly planFile: string;
  /** TLS from the first byte, which requires `tls`. If false: STARTTLS with `tls`, otherwise no TLS. */
  readonly secure: boolean;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Required login; undefined: none. */
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

/** A received email. */
export interface ReceivedEmail {
  readonly from: string;
  readonly to: readonly string[];
  /** The whole message, headers and body. */
  readonly raw: string;
  /** Whether the connection used TLS. */
  readonly secure: boolean;
  /** Empty without a login. */
  readonly user: string;
  /** Name that the client stated in EHLO. */
  readonly ehloName: string;
}
