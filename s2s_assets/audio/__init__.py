"""Audio: bytes to samples, measures, trim and loudness, and back to bytes. Used by prompts and responses."""

from s2s_assets.audio.clip import Clip, mono, pcm_sha256
from s2s_assets.audio.decoding import decode, read_audio_file
from s2s_assets.audio.encoding import encode, encode_flac, encode_flac_pcm16
from s2s_assets.audio.levels import SILENCE_DBFS, longest_pause_s, loudest_frame_dbfs
from s2s_assets.audio.measures import Measures, measure
from s2s_assets.audio.normalization import METHOD_VERSION, Normalized, normalize
from s2s_assets.audio.pcm import from_pcm16, pcm16, pcm16_sha256, resample
from s2s_assets.audio.spectrogram import FLOOR_DBFS, envelope, spectrogram_dbfs

__all__ = [
    "FLOOR_DBFS",
    "METHOD_VERSION",
    "SILENCE_DBFS",
    "Clip",
    "Measures",
    "Normalized",
    "decode",
    "encode",
    "encode_flac",
    "encode_flac_pcm16",
    "envelope",
    "from_pcm16",
    "longest_pause_s",
    "loudest_frame_dbfs",
    "measure",
    "mono",
    "normalize",
    "pcm16",
    "pcm16_sha256",
    "pcm_sha256",
    "read_audio_file",
    "resample",
    "spectrogram_dbfs",
]
