"""Objects in S3, or in what speaks its protocol, with conditional writes (`If-Match`)."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import TypeVar, cast

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotModifiedError,
    PreconditionError,
)
from obstore.store import S3Store

from commonplace.errors import InvalidArgument
from commonplace.service.objects import ObjectsUnavailable, checked_name

REQUEST_TIMEOUT = timedelta(seconds=10)
"""How long one request may take, and all attempts of it together."""
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
Found = TypeVar("Found")


class S3Objects:
    """Objects of a bucket; credentials, region and endpoint are those of `AWS_…` variables.

    Args:
        url: `s3://bucket/prefix`.

    Raises:
        InvalidArgument: It is no such address.
    """

    def __init__(self, url: str) -> None:
        if not url.startswith("s3://") or not url.removeprefix("s3://").strip("/"):
            raise InvalidArgument(f"objects are at an address such as s3://bucket/prefix: {url!r}")
        try:
            self._store = S3Store.from_url(
                url,
                client_options={
                    "timeout": REQUEST_TIMEOUT,
                    "connect_timeout": timedelta(seconds=2),
                    # whoever names such an endpoint means it
                    "allow_http": any(
                        os.environ.get(name, "").startswith("http:") for name in ENDPOINTS
                    ),
                },
                retry_config={"max_retries": 3, "retry_timeout": REQUEST_TIMEOUT},
            )
        except BaseError as error:
            raise InvalidArgument(f"{url}: {_reason(error)}") from None

    def read(self, name: str) -> bytes | None:
        """Return an object, or None when there is none."""
        try:
            return _asked(lambda: bytes(obstore.get(self._store, checked_name(name)).bytes()))
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write an object, durably and all at once."""
        _asked(lambda: obstore.put(self._store, checked_name(name), data, use_multipart=False))

    def create(self, name: str, data: bytes) -> bool:
        """Write an object unless there is one of this name; say whether it was written."""
        return self.exchange(name, data, "") is not None

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""
        self.delete_all([name])

    def delete_all(self, names: Iterable[str]) -> None:
        """Remove objects, those that are there."""
        paths = [checked_name(name) for name in names]
        if paths:
            _asked(lambda: obstore.delete(self._store, paths))

    def list(self, kind: str) -> Iterator[tuple[str, float]]:
        """Yield the names of a kind or group, each with its age in seconds by the store's clock."""
        prefix = checked_name(f"{kind}/x").removesuffix("x")

        def listed() -> list[tuple[str, datetime]]:
            found = obstore.list_with_delimiter(self._store, prefix)["objects"]
            return [(one["path"], one["last_modified"]) for one in found]

        if not (found := _asked(listed)):
            return
        now = self._clock()
        for name, at in sorted(found):
            yield name, max(0.0, (now - at).total_seconds())

    def newer(self, name: str, version: str) -> tuple[bytes, str] | None:
        """Return an object and its version, or None when it still is this version.

        Of an object that is not there the version is empty, as is the object.
        """
        options: obstore.GetOptions = {"if_none_match": version} if version else {}
        try:
            found = _asked(lambda: obstore.get(self._store, checked_name(name), options=options))
            return bytes(_asked(found.bytes)), cast("str", found.meta["e_tag"])
        except NotModifiedError:
            return None
        except FileNotFoundError:
            return (b"", "") if version else None

    def exchange(self, name: str, data: bytes, version: str) -> str | None:
        """Write an object if it still is this version (empty: is not there).

        Returns:
            Its new version; None: it was another one, and nothing was written.
        """
        mode: obstore.PutMode = {"e_tag": version} if version else "create"
        try:
            done = _asked(
                lambda: obstore.put(
                    self._store, checked_name(name), data, mode=mode, use_multipart=False
                )
            )
        except (AlreadyExistsError, PreconditionError, FileNotFoundError):
            return None
        return done["e_tag"]

    def _clock(self) -> datetime:
        """Return the time as the store has it: machines that share it may differ."""
        name = f"clock/{uuid.uuid4().hex}"
        self.write(name, b"")
        try:
            return _asked(lambda: obstore.head(self._store, name))["last_modified"]
        finally:
            self.delete(name)


def _asked(call: Callable[[], Found]) -> Found:
    """Return what the store answers.

    Raises:
        ObjectsUnavailable: It does not answer, or refuses.
    """
    try:
        return call()
    except (AlreadyExistsError, FileNotFoundError, NotModifiedError, PreconditionError) as error:
        if "<Code>NoSuchBucket<" not in str(error):
            raise
        # all memories would seem to be empty
        raise ObjectsUnavailable("the object store has no such bucket") from None
    except BaseError as error:
        raise ObjectsUnavailable(f"the object store does not answer: {_reason(error)}") from None


def _reason(error: BaseError) -> str:
    """Return why, in a line: the first of several, without addresses."""
    return type(error).__name__.removesuffix("Error")
