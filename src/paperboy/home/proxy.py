"""HTTPS_PROXY and NO_PROXY of the environment."""

from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from paperboy.errors import ConfigError
from paperboy.home.values import is_loopback


def proxy_for(url: str, environ: Mapping[str, str]) -> str:
    """Return HTTPS_PROXY for an https URL; empty for this machine and hosts in NO_PROXY.

    A proxy without a scheme gets http, as in curl. Raises ConfigError.
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
        fix = "write it as http://proxy.example.org:3128"
        raise ConfigError.at("environment", f"HTTPS_PROXY is not the address of a proxy; {fix}")

    return proxy
