"""Bytes to samples: what a file holds decides how it is read, never its name.

WAV (sizes repaired first), AIFF, AU, CAF, FLAC and Ogg Vorbis are read by libsndfile; MP3, AAC, MP4, WebM, Opus and FLAC in
Ogg by ffmpeg. Integer formats are scaled by 2^(bits - 1), so that the most negative code is -1. A file is read until it ends,
not for as many frames as its header claims.
"""

import codecs
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile as sf

from s2s_assets.audio import ffmpeg
from s2s_assets.audio.clip import FULL_SCALE_16_BIT, Clip, Samples
from s2s_assets.audio.flac import take_out_claim
from s2s_assets.audio.framing import after_id3, least_frames
from s2s_assets.audio.riff import HEADER_SIZE, repair_sizes
from s2s_assets.audio.unnamed import unnamed_file
from s2s_assets.study import AudioError

_OGG_BY_FFMPEG = (b"OpusHead", b"\x7fFLAC")
_SNDFILE_MAGIC = (b"RIFF", b"RIFX", b"RF64", b"riff", b"fLaC", b"OggS", b"FORM", b".snd", b"caff")
_FULL_SCALE = {"PCM_U8": 1 - 2**-7, "PCM_S8": 1 - 2**-7, "ULAW": 32124 / 32768, "ALAW": 32256 / 32768}
_BLOCK_FRAMES = 1 << 18


def read_audio_file(path: Path) -> bytes:
    """The bytes of a regular file.

    Raises:
        AudioError: there is no such file, it is not a regular file (a device or pipe would never end), or it cannot be
            read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise AudioError("not a regular file; give the path of an audio file")
        return path.read_bytes()
    except FileNotFoundError:
        raise AudioError("no such file") from None
    except (OSError, ValueError) as error:
        raise AudioError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def decode(data: bytes, name: str) -> Clip:
    """Decode a whole audio file; `name` says in messages which one.

    Warnings: `header_size` (a header, or an Ogg file's last page, claimed another length), `trailing_bytes` (see `riff`), `decoder_errors` (see
    `ffmpeg`).

    Raises:
        AudioError: empty, not audio, undecodable, without a frame, or with NaN or infinite samples.
    """
    try:
        clip = _decode(data)
        _require_finite(clip)
    except AudioError as error:
        raise AudioError(f"{name}: {error}") from error
    return clip


def _decode(data: bytes) -> Clip:
    rest = after_id3(data)
    if rest is not None and (rest.startswith(_SNDFILE_MAGIC) or _ffmpeg_demuxer(rest) is not None):
        data = rest
    flac = take_out_claim(data)
    if flac is not None:
        clip = _read(flac.data, ())
        lied = flac.claimed_frames not in (0, len(clip.samples))
    else:
        clip = _read_unclaimed(data)
        lied = len(clip.samples) < least_frames(data)
    return replace(clip, warnings=(*clip.warnings, HEADER_SIZE)) if lied else clip


def _read_unclaimed(data: bytes) -> Clip:
    """Read anything but FLAC."""
    demuxer = _ffmpeg_demuxer(data)
    if demuxer is not None:
        wav, warnings = ffmpeg.to_wav(data, demuxer)
        return _read(repair_sizes(wav).data, warnings)
    if not data.startswith(_SNDFILE_MAGIC):
        raise AudioError(_what_else(data))
    return _read(*repair_sizes(data))


class _Stream(sf.SoundFile):  # type: ignore[misc]
    """A file read from start to end: libsndfile fails to seek in a FLAC of unknown length, and soundfile seeks if it may."""

    def seekable(self) -> bool:
        return False


def _read(data: bytes, warnings: tuple[str, ...]) -> Clip:
    try:
        with unnamed_file(data) as whole, _Stream(whole.fileno(), closefd=False) as file:
            samples = _all_frames(file)
            return Clip(samples, int(file.samplerate), warnings, _FULL_SCALE.get(file.subtype, FULL_SCALE_16_BIT))
    except sf.SoundFileError as error:
        reason = getattr(error, "error_string", "") or "damaged or cut off"
        raise AudioError(f"cannot be decoded: {reason}") from error


def _all_frames(file: sf.SoundFile) -> Samples:
    blocks: list[Samples] = []
    while len(block := file.read(_BLOCK_FRAMES, dtype="float64", always_2d=True)):
        blocks.append(block)
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate(blocks) if blocks else np.zeros((0, file.channels))


def _require_finite(clip: Clip) -> None:
    if not len(clip.samples):
        raise AudioError("no audio: zero frames")
    if not np.isfinite(clip.samples).all():
        frame = int(np.flatnonzero(~np.isfinite(clip.samples).all(axis=1))[0])
        raise AudioError(f"a NaN or infinite sample, the first at {frame / clip.rate_hz:.3f} s")


def _ffmpeg_demuxer(data: bytes) -> str | None:
    """Name of the demuxer for a format that libsndfile is not trusted with, by the file's first bytes."""
    if data[4:8] == b"ftyp":
        return "mov"
    if data.startswith(b"\x1a\x45\xdf\xa3"):
        return "matroska"
    if data.startswith(b"OggS") and any(head in data[:256] for head in _OGG_BY_FFMPEG):
        return "ogg"
    if data.startswith(b"ID3"):
        return "mp3"
    if len(data) > 2 and data[0] == 0xFF and data[1] & 0xE0 == 0xE0:
        return "mp3" if data[1] & 0x06 else "aac"
    return None


def _what_else(data: bytes) -> str:
    """Why bytes of no known audio format are refused."""
    head = data[:200].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if not data:
        return "an empty file"
    if head.startswith((b"<!doctype html", b"<html", b"<?xml", b"<")):
        return "an HTML or XML page, not audio; perhaps a failed download"
    if head.startswith((b"{", b"[")):
        return "JSON text, not audio; perhaps an error message"
    return "no known audio format (WAV, FLAC, Ogg, MP3, MP4/AAC, WebM, AIFF)"
