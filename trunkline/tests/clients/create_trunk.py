"""Creates a trunk with a client by openapi-python-client."""

import os
import uuid

from generated import AuthenticatedClient
from generated.api.trunks import create_trunk
from generated.models import Trunk, TrunkCreate

client = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["TOKEN"])
trunk = create_trunk.sync(
    client=client,
    body=TrunkCreate(name="Amsterdam PBX", zone="eu-west", channel_cap=30),
    idempotency_key=str(uuid.uuid4()),
)
assert isinstance(trunk, Trunk), trunk
print(trunk.id)
