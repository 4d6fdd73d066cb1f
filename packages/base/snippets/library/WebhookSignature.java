import static java.nio.charset.StandardCharsets.UTF_8;

import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import java.net.http.HttpHeaders;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

public final class WebhookSignature {
    /** Like the method without a library, with the artifact com.standardwebhooks:standardwebhooks. */
    public static boolean verify(Map<String, String> headers, byte[] body, List<String> secrets) {
        Map<String, List<String>> lists =
                headers.entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, e -> List.of(e.getValue())));
        for (String secret : secrets) {
            try {
                new Webhook(secret).verify(new String(body, UTF_8), HttpHeaders.of(lists, (name, value) -> true));
                return true;
            } catch (WebhookVerificationException e) {
                // not signed with this secret
            }
        }
        return false;
    }
}
