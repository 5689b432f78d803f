"""The proxy of the environment, for servers beyond this machine."""

from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from paperboy.errors import ConfigError
from paperboy.home.values import is_loopback


def proxy_for(url: str, environ: Mapping[str, str]) -> str:
    """Return HTTPS_PROXY for an https URL, but not for a host of this machine or one in NO_PROXY;
    empty: none.

    A proxy without a scheme is asked by http, as curl does. Raises ConfigError.
    """
    proxy = environ.get("HTTPS_PROXY") or environ.get("https_proxy", "")
    no_proxy = environ.get("NO_PROXY") or environ.get("no_proxy", "")
    host = urlsplit(url).hostname or ""
    if not proxy or not url.startswith("https:") or is_loopback(host):
        return ""
    if proxy_bypass_environment(host, {"no": no_proxy}):
        return ""

    if "://" not in proxy:
        proxy = f"http://{proxy}"
    try:
        parts = urlsplit(proxy)
        is_usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        message = (
            "HTTPS_PROXY is no address of a proxy; it looks like http://proxy.example.org:3128"
        )
        raise ConfigError.at("environment", message)
    return proxy
