"""Audio: bytes to samples, measures, trim and loudness, and back to bytes. Used by prompts and responses."""

from s2s_assets.audio.clip import Clip, Samples, mono, pcm_sha256
from s2s_assets.audio.decoding import decode, read_audio_file
from s2s_assets.audio.encoding import encode, encode_flac, quantize
from s2s_assets.audio.measures import Measures, measure
from s2s_assets.audio.normalization import METHOD_VERSION, Normalized, normalize
from s2s_assets.audio.pcm import from_pcm16, pcm16, resample

__all__ = [
    "METHOD_VERSION",
    "Clip",
    "Measures",
    "Normalized",
    "Samples",
    "decode",
    "encode",
    "encode_flac",
    "from_pcm16",
    "measure",
    "mono",
    "normalize",
    "pcm16",
    "pcm_sha256",
    "quantize",
    "read_audio_file",
    "resample",
]
