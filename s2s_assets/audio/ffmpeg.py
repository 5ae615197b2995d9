"""MP3, AAC, Opus and their containers, decoded by the `ffmpeg` program.

libsndfile reads a fraction of an MP3 with a variable bit rate and no Xing header, without an error; ffmpeg reads all of
it. The demuxer is named, never guessed, so that bytes from elsewhere cannot pose as a playlist that opens other files.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from s2s_assets.study import AudioError

DECODER_ERRORS = "decoder_errors"
_TIMEOUT_S = 120.0


def to_wav(data: bytes, demuxer: str) -> tuple[bytes, tuple[str, ...]]:
    """Decode the first audio stream to a WAV file of 32-bit floats.

    The WAV comes through a pipe, so its sizes are untrue. Warning `decoder_errors` where ffmpeg went on after an error.

    Raises:
        AudioError: no ffmpeg on this machine, or it cannot decode the bytes.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise AudioError(
            f"{demuxer} audio needs the ffmpeg program, which is not installed; give WAV, FLAC or Ogg Vorbis"
        )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        source.write_bytes(data)
        arguments = [program, "-v", "error", "-nostdin", "-protocol_whitelist", "file,pipe", "-f", demuxer]
        arguments += ["-i", str(source), "-map", "0:a:0", "-c:a", "pcm_f32le", "-f", "wav", "pipe:1"]
        try:
            done = subprocess.run(  # noqa: S603 -- fixed arguments, no shell
                arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise AudioError(f"ffmpeg did not decode this {demuxer} audio within {_TIMEOUT_S:.0f} s") from None
    said = done.stderr.decode(errors="replace").replace(str(source), "the file").strip()
    if done.returncode or not done.stdout:
        last = said.splitlines()[-1][:200] if said else "no output"
        raise AudioError(f"cannot be decoded as {demuxer} audio: {last}")
    return done.stdout, (DECODER_ERRORS,) if said else ()
