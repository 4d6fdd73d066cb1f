import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

@RestController
public class WebhookController {
    private final List<String> secrets = List.of(System.getenv("WEBHOOK_SECRETS").split(" "));

    @PostMapping("/webhooks")
    public ResponseEntity<Void> receive(@RequestHeader Map<String, String> headers, @RequestBody byte[] body)
            throws GeneralSecurityException {
        Map<String, String> byName = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        byName.putAll(headers);
        if (!WebhookSignature.verify(byName, body, secrets)) return ResponseEntity.status(401).build();
        // Parse the body, and store the event here.
        return ResponseEntity.ok().build();
    }
}
