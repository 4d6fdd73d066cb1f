import json, os

from flask import Flask, request

from verify import verify_signature

secrets = os.environ["WEBHOOK_SECRETS"].split()
app = Flask(__name__)

@app.post("/webhooks")
def receive():
    body = request.get_data()  # the raw bytes
    if not verify_signature(request.headers, body, secrets):
        return "", 401
    event = json.loads(body)
    print(event["id"], event["type"])  # store the event here
    return "", 200
