"""A real nginx on loopback, with TLS and the manual's line, in front of `paperboy web`.

with Nginx(8025, trustme.CA()) as proxy:
    ...https://papers.example.org is at proxy.port...
"""

import contextlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import trustme

HOST = "papers.example.org"
(NGINX,) = re.findall(
    r"`(location / \{.*?\})`",
    (Path(__file__).parents[2] / "src" / "paperboy" / "manual" / "web.md").read_text("utf-8"),
    flags=re.DOTALL,
)
"""The line of the manual."""

_CONFIG = """\
daemon off;
error_log {folder}/error.log;
pid {folder}/pid;
events {{}}
http {{
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  access_log {folder}/access.log;
  server {{
    listen 127.0.0.1:{port} ssl;
    server_name {host};
    ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/key.pem;
    {line}
  }}
}}
"""


def missing() -> str:
    """What is not installed here, in words."""
    return "" if shutil.which("nginx", path="/usr/sbin:/usr/bin") else "nginx is not installed"


@dataclass
class Nginx:
    """It runs from `with` to its end."""

    to: int  # the port of `paperboy web`
    authority: trustme.CA
    port: int = field(init=False)

    def __enter__(self) -> Self:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        self._temporary = tempfile.TemporaryDirectory(prefix="nginx-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        self.folder.chmod(0o755)  # its workers belong to nobody
        leaf = self.authority.issue_cert(HOST)
        leaf.private_key_pem.write_to_path(str(self.folder / "key.pem"))
        for blob in leaf.cert_chain_pems:
            blob.write_to_path(str(self.folder / "chain.pem"), append=True)
        line = NGINX.replace("8025", str(self.to))
        text = _CONFIG.format(folder=self.folder, port=self.port, host=HOST, line=line)
        (self.folder / "nginx.conf").write_text(text, "utf-8")
        command = ["/usr/sbin/nginx", "-c", str(self.folder / "nginx.conf"), "-p", str(self.folder)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE)
        until = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, self._process.communicate()[1]
            assert time.monotonic() < until
            time.sleep(0.02)
        return self

    def _answers(self) -> bool:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=1),
        ):
            return True
        return False

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()
        self._temporary.cleanup()

    @property
    def log(self) -> str:
        """What it wrote about requests."""
        return "".join(file.read_text("utf-8") for file in self.folder.glob("*.log"))
