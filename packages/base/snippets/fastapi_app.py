import json, os

from fastapi import FastAPI, Request, Response

from verify import verify_signature

secrets = os.environ["WEBHOOK_SECRETS"].split()
app = FastAPI()

@app.post("/webhooks")
async def receive(request: Request) -> Response:
    body = await request.body()  # the raw bytes; a parameter with a model would parse them
    if not verify_signature(request.headers, body, secrets):
        return Response(status_code=401)
    event = json.loads(body)
    print(event["id"], event["type"])  # store the event here
    return Response(status_code=200)
