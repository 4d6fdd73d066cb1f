/** How the server treats what comes, from now on. */
export interface SmtpPlan {
  /** What MAIL FROM of a mail is answered: undefined takes it. */
  readonly refuseSender?: { readonly code: number; readonly text: string };
  /** The same of RCPT TO. */
  readonly refuseRecipient?: { readonly code: number; readonly text: string };
  /** The same after the whole mail. */
  readonly refuseMail?: { readonly code: number; readonly text: string };
  /** Never answers the end of a mail, though it has written it down. */
  readonly neverAnswers?: true;
}

export interface SmtpSettings {
  readonly port: number;
  readonly recordFile: string;
  readonly planFile: string;
  /** TLS from the first byte with `tls`; else STARTTLS with it, or no TLS at all. */
  readonly secure: boolean;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Who may send; undefined: anybody. */
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

/** A mail as it has come. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** All of it, headers and body. */
  readonly raw: string;
  /** Whether the connection was TLS. */
  readonly secure: boolean;
  /** Empty: nobody signed in. */
  readonly user: string;
}
