import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class WebhookSignature {
    /**
     * Returns whether the service signed the request within the last five minutes.
     *
     * @param headers by lowercase name
     * @param body the raw bytes, before any parsing
     * @param secrets the current "whsec_…" and, during a rotation, the previous one
     */
    public static boolean verify(Map<String, String> headers, byte[] body, List<String> secrets)
            throws GeneralSecurityException {
        String timestamp = headers.getOrDefault("webhook-timestamp", "");
        if (!timestamp.matches("[0-9]{1,12}")) return false;
        if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp)) > 300) return false;
        String signed = headers.get("webhook-id") + "." + timestamp + ".";
        for (String secret : secrets) {
            byte[] key = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
            if (key.length < 24) continue; // not a signing secret
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update(signed.getBytes(UTF_8));
            byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(UTF_8);
            for (String sent : headers.getOrDefault("webhook-signature", "").split(" ")) {
                if (MessageDigest.isEqual(sent.getBytes(UTF_8), expected)) return true;
            }
        }
        return false;
    }
}
