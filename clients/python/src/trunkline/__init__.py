"""Client of the Trunkline API. Start with `Trunkline`, or with `AsyncTrunkline` in asyncio programs."""

from ._core import UNSET, VERSION, FileInput, Unset
from .async_client import AsyncTrunkline
from .client import Trunkline
from .errors import InvalidParam, NetworkError, ProblemError, TrunklineError
from .generated import inputs, models
from .paging import AsyncPager, Page, Pager
from .webhooks import WebhookEvent, WebhookVerificationError, sign_webhook, verify_webhook

__version__ = VERSION

__all__ = [
    "UNSET",
    "AsyncPager",
    "AsyncTrunkline",
    "FileInput",
    "InvalidParam",
    "NetworkError",
    "Page",
    "Pager",
    "ProblemError",
    "Trunkline",
    "TrunklineError",
    "Unset",
    "WebhookEvent",
    "WebhookVerificationError",
    "inputs",
    "models",
    "sign_webhook",
    "verify_webhook",
]
