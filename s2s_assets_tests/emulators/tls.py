"""A TLS front for an emulator, for clients that speak nothing else; its certificate is made for the occasion."""

import asyncio
import atexit
import datetime as dt
import ipaddress
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@asynccontextmanager
async def tls_front(url: str, folder: Path) -> AsyncIterator[tuple[str, ssl.SSLContext]]:
    """`https` address of a port that hands everything on to an address, and a context that trusts it.

    Args:
        url: address of the emulator.
        folder: where certificate and key are written.
    """
    target = urlsplit(url)

    async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(target.hostname, target.port)
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))

    certificate = self_signed(folder)
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(certificate)
    async with await asyncio.start_server(hand_on, "127.0.0.1", 0, ssl=served) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"https://127.0.0.1:{port}", ssl.create_default_context(cafile=str(certificate))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, ssl.SSLError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.close()


@cache
def certificate() -> Path:
    """Key and certificate for this process's emulators, in a folder that goes with it."""
    folder = Path(mkdtemp(prefix="s2s-emulator-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return self_signed(folder)


@cache
def authority() -> Path:
    """That certificate alone, for clients to trust."""
    path = certificate().with_name("authority.pem")
    chain = x509.load_pem_x509_certificates(certificate().read_bytes())
    path.write_bytes(b"".join(link.public_bytes(serialization.Encoding.PEM) for link in chain))
    return path


def self_signed(folder: Path) -> Path:
    """A PEM file with a new key and a certificate of 127.0.0.1 that is valid for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - dt.timedelta(hours=1)).not_valid_after(now + dt.timedelta(days=1))
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    path = folder / "emulator.pem"
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(encoding, form, serialization.NoEncryption())
    path.write_bytes(secret + builder.sign(key, hashes.SHA256()).public_bytes(encoding))
    return path
