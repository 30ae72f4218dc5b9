"""Command `serve`: the service for many tenants, its access tokens, and upkeep of its index."""

from __future__ import annotations

from commonplace.cli.options import KEEP_SECRETS, LISTEN_HOST, LISTEN_PORT
from commonplace.cli.output import FOUND, emit, print_message
from commonplace.cli.parser import JSON, RootOptions, UsageError, argument, command, count
from commonplace.cli.printer import counted
from commonplace.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.protocols import Embedder
    from commonplace.service.objects import VersionedObjects
    from commonplace.service.opensearch import OpenSearch
    from commonplace.service.process import Process
    from commonplace.service.tokens import Tokens

ACTION = argument(
    "action",
    nargs="*",
    metavar="ACTION",
    help="Nothing: serve. Or `token new`, `token list`, `token revoke ID`, `rebuild` (compare the "
    "files of all tenants, or of --tenant, with the index), `reindex` (rebuild the index from all "
    "files).",
)
ENGINE = argument(
    "--engine",
    metavar="URL",
    help="OpenSearch, or several nodes with commas between. Default: $COMMONPLACE_ENGINE; without "
    "one each tenant is ranked in this process.",
)
OBJECTS = argument(
    "--objects",
    metavar="URL",
    help="Keep all files in an object store, s3://BUCKET/PREFIX; the folder given as --root then "
    "holds only copies. Default: $COMMONPLACE_OBJECTS; without one all files are in the folder.",
)
PREFIX = argument(
    "--index",
    default="commonplace",
    metavar="NAME",
    help="Name of the index in the engine. Default: commonplace.",
)
REPLICAS = argument(
    "--replicas",
    type=count(0),
    default=1,
    metavar="N",
    help="Copies of a new index beside the first. Default: 1.",
)
RATE = argument(
    "--rate",
    type=count(1),
    default=100,
    metavar="N",
    help="Calls of one tenant per second. Default: 100.",
)
SEARCH_TIMEOUT = argument(
    "--search-timeout",
    type=count(1),
    default=3,
    metavar="SECONDS",
    help="Seconds in which the engine has to answer a request of a search. Default: 3.",
)
LARGEST = argument(
    "--largest", type=count(1), default=4, metavar="MB", help="Largest request. Default: 4 MB."
)
TENANT = argument("--tenant", metavar="NAME", help="Whose token it is, or whose files are meant.")
AGENT = argument(
    "--agent", default="default", metavar="NAME", help="Who will use the token. Default: default."
)
SCOPES = argument(
    "--scope",
    dest="scopes",
    action="append",
    choices=["read", "write", "forget"],
    help="What the token allows; may be repeated. Default: read and write.",
)
DAYS = argument(
    "--days",
    type=count(1),
    metavar="N",
    help="Days for which the token is valid. Default: until revoked.",
)


@command(
    *(ACTION, ENGINE, OBJECTS, PREFIX, REPLICAS, LISTEN_HOST, LISTEN_PORT, RATE, LARGEST),
    *(SEARCH_TIMEOUT, KEEP_SECRETS, TENANT, AGENT, SCOPES, DAYS, JSON),
)
def serve(
    opening: RootOptions,
    *,
    action: list[str],
    engine: str | None,
    objects: str | None,
    index: str,
    replicas: int,
    host: str,
    port: int,
    rate: int,
    largest: int,
    search_timeout: int,
    keep_secrets: bool,
    tenant: str | None,
    agent: str,
    scopes: list[str] | None,
    days: int | None,
    as_json: bool,
) -> int:
    """Serve the memories of many tenants over HTTP and MCP, with a token for each.

    The folder given as --root holds a folder for each tenant, and what the service keeps itself.
    """
    root = _root(opening)
    try:
        from commonplace.service.limits import Limits
        from commonplace.service.process import Process
        from commonplace.store import wanted_embedder
    except ModuleNotFoundError as error:
        told = f"serve needs {error.name}: pip install 'commonplace[serve]'"
        raise UsageError(told) from None
    # its weights are loaded by what searches or indexes
    embedder = wanted_embedder() if action[:1] != ["token"] else None
    client = _engine(engine, index, replicas, search_timeout, embedder)
    limits = Limits(rate, 2 * rate)
    process = Process(
        root,
        client,
        limits=limits,
        objects=_objects(objects),
        embedder=embedder,
        keep_secrets=keep_secrets,
    )
    try:
        match action:
            case []:
                return _serve(process, host, port, largest << 20)
            case ["token", *rest]:
                return _token(process.tokens, rest, tenant, agent, scopes, days, as_json)
            case ["rebuild"] | ["reindex"]:
                keys = _rebuild(process, client, tenant, anew=action == ["reindex"])
                if as_json:
                    emit({"tenants": len(keys)})
                else:
                    print_message(f"indexed {counted(len(keys), 'tenant')}")
                return FOUND
    finally:
        process.close()
    raise UsageError(f"serve {' '.join(action)}: there is no such action; see serve --help")


def _engine(
    url: str | None, index: str, replicas: int, search_timeout: int, embedder: Embedder | None
) -> OpenSearch | None:
    """Return the client of a search engine, if one is named."""
    import os

    from commonplace.service.opensearch import OpenSearch
    from commonplace.service.vector_field import VectorField

    url = url or os.environ.get("COMMONPLACE_ENGINE")
    for node in url.split(",") if url else ():
        # what is between two commas may be empty
        if node.strip() and not node.strip().startswith(("http://", "https://")):
            told = f"--engine is an address such as http://127.0.0.1:9200, not {node.strip()!r}"
            raise UsageError(told)
    vectors = VectorField.of(embedder) if embedder else None
    if not url:
        return None
    timeout = float(search_timeout)
    return OpenSearch(url, prefix=index, replicas=replicas, search_timeout=timeout, vectors=vectors)


def _objects(url: str | None) -> VersionedObjects | None:
    """Return the object store that has all files, if one is named."""
    import os

    if not (url := url or os.environ.get("COMMONPLACE_OBJECTS")):
        return None
    try:
        from commonplace.service.s3 import S3Objects
    except ModuleNotFoundError as error:
        told = f"--objects needs {error.name}: pip install 'commonplace[s3]'"
        raise UsageError(told) from None
    return S3Objects(url)


def _root(opening: RootOptions) -> Path:
    from pathlib import Path

    from commonplace.store import find_root

    return Path(opening.root) if opening.root else find_root()


def _serve(process: Process, host: str, port: int, largest: int) -> int:
    """Serve until the process is told to end."""
    from commonplace.doors.sockets import address_of, listening
    from commonplace.service.app import run
    from commonplace.service.json_log import log_as_json

    log_as_json()
    try:
        listener = listening(port, host)
    except OSError as error:
        raise UsageError(f"cannot listen at {host} port {port}: {error.strerror}") from None
    with listener:
        process.start()
        print_message(f"serving at http://{address_of(listener)}/v1 and /mcp")
        run(process, listener, largest)
    return FOUND


def _token(
    tokens: Tokens,
    action: list[str],
    tenant: str | None,
    agent: str,
    scopes: list[str] | None,
    days: int | None,
    as_json: bool,
) -> int:
    """Make, list or revoke tokens."""
    match action:
        case ["new"]:
            if not tenant:
                raise UsageError("token new: say whose it is with --tenant")
            given = tuple(dict.fromkeys(scopes or ("read", "write")))
            token, grant = tokens.new(tenant, agent, given, days)  # type: ignore[arg-type]
            if as_json:
                emit({"token": token, "id": grant.id, "tenant": tenant, "key": grant.key})
            else:
                print(token)
        case ["list"]:
            for grant in tokens.list():
                told = {
                    "id": grant.id,
                    "tenant": grant.tenant,
                    "agent": grant.agent,
                    "scopes": list(grant.scopes),
                    "expires": grant.expires,
                }
                if as_json:
                    emit(told)
                else:
                    print(grant.id, ",".join(grant.scopes), repr(grant.tenant), repr(grant.agent))
        case ["revoke", own]:
            tokens.revoke(own)
        case _:
            raise UsageError("token: new, list, or revoke with its ID")
    return FOUND


def _rebuild(
    process: Process, client: OpenSearch | None, tenant: str | None, *, anew: bool
) -> list[str]:
    """Compare files with the index, or rebuild it from all; return the keys of the tenants."""
    from commonplace.service.reindex import reindex

    if client is None:
        raise UsageError("say where the search engine is: --engine URL")
    if anew:
        keys = reindex(client, process.stores, process.embedder)
    else:
        keys = _keys(process, client, tenant)
        client.prepare()
        for key in keys:
            process.indexer.rebuild(key)
    for key in keys:
        with process.stores.of(key) as store:
            if store.replica:
                store.replica.remove_orphans()
    return keys


def _keys(process: Process, client: OpenSearch, tenant: str | None) -> list[str]:
    """Return the key of a tenant, or those of all.

    Raises:
        NotFound: There is no such tenant; nothing was made for it.
    """
    from commonplace.service.tokens import tenant_key

    keys = list(process.stores.tenants())
    if tenant is None:
        return keys
    key = tenant_key(tenant)
    # of one whose folder was removed the index still has documents
    if key not in keys and not client.has_alias(key):
        told = f"there is no tenant {tenant!r} with files; `serve token list` shows the names"
        raise NotFound(told)
    return [key]
