/**
 * Returns the page for a browser with too large headers. It has no script and no style, because the assets of the
 * dashboard would be requested with the same headers.
 */
export function headersPage(maxHeadersKib: number): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Too many cookies</title>
<h1>Too many cookies</h1>
<p>Your browser sent more than ${maxHeadersKib} KiB of headers. The usual cause are cookies of other applications on the
same domain.</p>
<ul>
<li>Delete the cookies of this domain in the settings of your browser, then reload the page. You must sign in again.</li>
<li>If this happens again, ask the operator to raise MAX_HEADERS_KIB, or to serve the dashboard on a domain of its own.</li>
</ul>
</html>
`;
}
