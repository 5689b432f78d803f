"""The proxy of the environment: for https beyond this machine, and for nothing else."""

from __future__ import annotations

import pytest

from paperboy.errors import ConfigError
from paperboy.home.proxy import proxy_for

URL = "https://llm.example.org/v1"
PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        (URL, {"HTTPS_PROXY": PROXY}, PROXY),
        (URL, {"HTTPS_PROXY": "proxy:3128"}, PROXY),
        (URL, {"https_proxy": PROXY}, PROXY),
        (URL, {"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, ""),
        (URL, {"HTTPS_PROXY": PROXY, "NO_PROXY": "a.org,.example.org"}, ""),
        (URL, {"HTTPS_PROXY": PROXY, "no_proxy": "*"}, ""),
        ("http://llm.example.org/v1", {"HTTPS_PROXY": PROXY}, ""),
        ("https://127.0.0.1:8000/v1", {"HTTPS_PROXY": PROXY}, ""),
        ("https://localhost/v1", {"HTTPS_PROXY": PROXY}, ""),
    ],
)
def test_only_https_proxy_is_used_and_never_for_this_machine(
    url: str, environ: dict[str, str], proxy: str
) -> None:
    assert proxy_for(url, environ) == proxy


@pytest.mark.parametrize(
    "proxy", ["socks5://user:hush@proxy:1080", "http://", "http://[::1", "http://proxy:99999"]
)
def test_unusable_proxy_is_a_config_error_that_hides_its_password(proxy: str) -> None:
    with pytest.raises(
        ConfigError, match=r"^environment: HTTPS_PROXY is not the address of a proxy"
    ) as caught:
        proxy_for(URL, {"HTTPS_PROXY": proxy})
    assert "hush" not in str(caught.value)
