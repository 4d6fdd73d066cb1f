"""Calls the API with the client that openapi-generator creates for Python.

Arguments: URL of the API, key, URL for the webhook. Prints the ID of the resource that it creates.
"""

import sys
import time

import openapi_client
from openapi_client import CreateResource, CreateWebhook

url, key, webhook_url = sys.argv[1:]
configuration = openapi_client.Configuration(host=url, access_token=key)
with openapi_client.ApiClient(configuration) as client:
    webhooks = openapi_client.WebhooksApi(client)
    resources = openapi_client.ResourcesApi(client)
    feed = openapi_client.EventsApi(client)

    webhook = webhooks.create_webhook(CreateWebhook(url=webhook_url, events=["*"])).data
    assert webhook.secret.startswith("whsec_"), webhook
    assert webhook.id in [one.id for one in webhooks.list_webhooks().data]

    start = feed.list_events(after=0).meta.newest_sequence
    body = CreateResource(name="Grüße", metadata={"team": "blue"})
    created = resources.create_resource(body, idempotency_key="python-1").data
    repeated = resources.create_resource(body, idempotency_key="python-1").data
    assert (repeated.id, repeated.name, repeated.metadata) == (created.id, "Grüße", {"team": "blue"}), repeated
    assert created.id in [one.id for one in resources.list_resources(per_page=10).data]

    def wait_for(condition, what):
        deadline = time.monotonic() + 60
        # The generator wraps values of several types.
        while not any(condition(event.actual_instance) for event in feed.list_events(after=start).data):
            assert time.monotonic() < deadline, what

    wait_for(lambda event: event.data and event.data.object.id == created.id, "the feed does not contain the event")
    resources.delete_resource(created.id)
    wait_for(lambda event: event.data is None, "the event of the deleted resource is not erased")

    try:
        resources.get_resource("res_0")
        raise AssertionError("a missing resource was found")
    except openapi_client.exceptions.NotFoundException as error:
        assert error.data.error.code == "not_found", error.data
print(created.id)
