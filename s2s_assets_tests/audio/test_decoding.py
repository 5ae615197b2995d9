"""Files of every kind, files whose headers lie, and files that are refused with a reason of their own."""

import contextlib
import io
import os
import struct
import subprocess

import numpy as np
import pytest
import soundfile as sf
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio import decode, pcm_sha256, read_audio_file
from s2s_assets.audio.riff import repair_sizes
from s2s_assets.study import AudioError

EXTENSIBLE = 0xFFFE


def coded(samples, rate_hz, container, subtype):
    file = io.BytesIO()
    sf.write(file, samples, rate_hz, format=container, subtype=subtype)
    return file.getvalue()


def claim_frames(flac, frames):
    """Set the length in a FLAC file's header."""
    fields = int.from_bytes(flac[18:26], "big") >> 36 << 36 | frames
    return flac[:18] + fields.to_bytes(8, "big") + flac[26:]


def framed(data, order, tag, bits, frame):
    """A WAV of one channel whose header gives these bits and bytes, in the byte order of RIFF or of RIFX."""
    fields = struct.pack(f"{order}HHIIHH", tag, 1, 24000, 24000 * frame, frame, bits)
    if tag == EXTENSIBLE:
        fields += struct.pack(f"{order}HHIIHH", 22, bits, 4, 1, 0, 0x10) + bytes.fromhex("800000aa00389b71")
    chunks = b"".join(n + struct.pack(f"{order}I", len(c)) + c for n, c in ((b"fmt ", fields), (b"data", data)))
    return (b"RIFF" if order == "<" else b"RIFX") + struct.pack(f"{order}I", 4 + len(chunks)) + b"WAVE" + chunks


@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize(
    ("bits", "floats"), [(8, False), (16, False), (24, False), (32, False), (32, True), (64, True)]
)
def test_every_wav_sample_format_is_read_exactly(wav, babble, bits, floats, extensible):
    samples = np.concatenate([babble(0.5), babble(0.5, seed=2)], axis=1)
    clip = decode(wav(samples, bits=bits, floats=floats, extensible=extensible), "x.wav")
    top = 2.0 ** (bits - 1)
    expected = samples.astype(f"f{bits // 8}") if floats else np.rint(samples * top) / top
    np.testing.assert_array_equal(clip.samples, expected)
    assert (clip.rate_hz, clip.channels, clip.duration_s, clip.warnings) == (24000, 2, 0.5, ())


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("tag", [0x0001, EXTENSIBLE])
@pytest.mark.parametrize(("bits", "container"), [(24, 4), (20, 4), (12, 2), (20, 3), (24, 3)])
def test_samples_stand_in_the_high_bits_of_their_container(babble, bits, container, tag, order):
    codes = np.rint(babble(0.5)[:, 0] * 2 ** (bits - 1)).astype(int)
    side = "little" if order == "<" else "big"
    data = b"".join((int(code) << 8 * container - bits).to_bytes(container, side, signed=True) for code in codes)
    clip = decode(framed(data, order, tag, bits, container), "x.wav")
    np.testing.assert_array_equal(clip.samples[:, 0], codes / 2 ** (bits - 1))
    assert clip.warnings == (("header_size",) if container == 4 else ())


@pytest.mark.parametrize("tag", [0x0001, EXTENSIBLE])
def test_an_untrue_frame_size_beside_16_bits_is_not_believed(babble, tag):
    codes = np.rint(babble(0.5)[:, 0] * 2**15).astype("<i2")
    clip = decode(framed(codes.tobytes(), "<", tag, 16, 4), "x.wav")
    np.testing.assert_array_equal(clip.samples[:, 0], codes / 2**15)


@pytest.mark.parametrize("rate_hz", [8000, 11025, 16000, 22050, 24000, 44100, 48000])
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_flac_and_wav_of_the_same_samples_have_the_same_hash(wav, babble, rate_hz, channels):
    samples = np.concatenate([babble(0.2, rate_hz, seed) for seed in range(channels)], axis=1)
    samples = np.rint(samples * 2**15) / 2**15
    as_wav, as_flac = decode(wav(samples, rate_hz), "x"), decode(coded(samples, rate_hz, "FLAC", "PCM_24"), "x")
    assert pcm_sha256(as_wav) == pcm_sha256(as_flac)
    assert (as_flac.rate_hz, as_flac.channels) == (rate_hz, channels)


@pytest.mark.parametrize(
    ("container", "subtype"),
    [("AIFF", "PCM_16"), ("AU", "PCM_16"), ("CAF", "PCM_24"), ("RF64", "PCM_16"), ("OGG", "VORBIS")],
)
def test_other_containers_are_read_whole(babble, container, subtype):
    clip = decode(coded(babble(1.0), 24000, container, subtype), "x")
    assert clip.duration_s == pytest.approx(1.0, abs=1e-9)
    assert np.abs(clip.samples - babble(1.0)).max() < 0.1


@pytest.mark.parametrize("size", [0, 16, 20_000, 0xFFFFFFFF, 0x7FFFF000, 100_000])
@pytest.mark.parametrize("extensible", [False, True])
def test_a_wav_header_that_lies_is_read_to_the_true_end(wav, babble, size, extensible):
    honest = decode(wav(babble(1.0), extensible=extensible), "x")
    lying = decode(wav(babble(1.0), extensible=extensible, size=size), "x")
    assert lying.warnings == ("header_size",)
    assert pcm_sha256(lying) == pcm_sha256(honest)


def as_rf64(wav, data_size):
    """The file as RF64, its sizes in a chunk `ds64`."""
    sizes = b"ds64" + struct.pack("<IQQQI", 28, 0, data_size, 0, 0)
    return b"RF64\xff\xff\xff\xffWAVE" + sizes + wav[12:36] + b"data\xff\xff\xff\xff" + wav[44:]


@pytest.mark.parametrize(
    ("size", "warnings"), [(48000, ()), (0, ("header_size",)), (10**9, ("header_size",)), (2**40, ("header_size",))]
)
def test_an_rf64_whose_long_size_lies_is_read_to_its_end(wav, babble, size, warnings):
    clip = decode(as_rf64(wav(babble(1.0)), size), "x")
    assert clip.warnings == warnings
    assert pcm_sha256(clip) == pcm_sha256(decode(wav(babble(1.0)), "x"))


@pytest.mark.parametrize(
    ("size", "warnings"), [(None, ()), (0, ("header_size",)), (0xFFFFFFFF, ("header_size",)), (100, ("header_size",))]
)
def test_a_big_endian_wav_is_read_to_its_end(wav, babble, size, warnings):
    honest = wav(babble(1.0))
    form = struct.pack(">4sIHHIIHH", b"fmt ", 16, 1, 1, 24000, 48000, 2, 16)
    codes = np.frombuffer(honest[44:], "<i2").astype(">i2").tobytes()
    data = struct.pack(">4sI", b"data", len(codes) if size is None else size) + codes
    clip = decode(struct.pack(">4sI", b"RIFX", 4 + len(form) + len(data)) + b"WAVE" + form + data, "x")
    assert clip.warnings == warnings
    assert pcm_sha256(clip) == pcm_sha256(decode(honest, "x"))


def test_a_lying_header_after_other_chunks_is_found(wav, babble):
    listed = b"LIST" + struct.pack("<I", 5) + b"INFO!\0"
    honest = wav(babble(1.0), size=0)
    lying = honest[:36] + listed + honest[36:]
    assert decode(lying, "x").duration_s == 1.0


def test_a_wav_that_was_cut_off_gives_what_is_there(wav, babble):
    clip = decode(wav(babble(1.0))[:-24001], "x")
    assert clip.warnings == ("header_size",)
    assert len(clip.samples) == 24000 - 12001


def test_a_true_size_of_zero_before_other_chunks_is_believed(wav):
    tail = b"LIST" + struct.pack("<I", 4) + b"INFO"
    with pytest.raises(AudioError, match="no audio"):
        decode(wav(np.zeros((0, 1)), tail=tail), "x")


def test_chunks_and_a_stray_byte_after_the_audio_are_no_fault(wav, babble):
    for tail in (b"\x01", b"LIST" + struct.pack("<I", 4) + b"INFO"):
        clip = decode(wav(babble(0.5), tail=tail), "x")
        assert (len(clip.samples), clip.warnings) == (12000, ())


def test_bytes_after_the_audio_that_are_no_chunk_are_noticed(wav, babble):
    assert decode(wav(babble(0.5), tail=b"\xff\x00" * 500), "x").warnings == ("trailing_bytes",)


def test_a_tag_after_little_audio_is_no_audio(wav, babble):
    clip = decode(wav(babble(0.001), tail=b"TAG" + bytes(125)), "x")
    assert (len(clip.samples), clip.warnings) == (24, ("trailing_bytes",))


@given(st.binary(max_size=200))
def test_repairing_never_fails_and_leaves_other_files_alone(data):
    repaired = repair_sizes(data)
    if not data.startswith((b"RIFF", b"RIFX", b"RF64")):
        assert repaired == (data, ())
    assert len(repair_sizes(b"RIFF\0\0\0\0WAVE" + data).data) == 12 + len(data)


@pytest.mark.parametrize(
    ("claimed", "warnings"), [(0, ()), (5000, ("header_size",)), (10**9, ("header_size",)), (24000, ())]
)
def test_a_flac_of_unknown_or_wrong_length_is_read_to_its_end(babble, claimed, warnings):
    clip = decode(claim_frames(coded(babble(1.0), 24000, "FLAC", "PCM_16"), claimed), "x")
    assert (len(clip.samples), clip.warnings) == (24000, warnings)


ID3 = b"ID3\x04\0\0\0\0\0\x0a" + b"\0" * 10


def test_a_flac_or_wav_behind_an_id3_tag_is_what_it_is(wav, babble):
    assert decode(ID3 + coded(babble(1.0), 24000, "FLAC", "PCM_16"), "x").duration_s == 1.0
    assert decode(ID3 + wav(babble(1.0)), "x").duration_s == 1.0


def encoded(program, tmp_path, source, options, name):
    """A file as ffmpeg writes it."""
    (tmp_path / "x.wav").write_bytes(source)
    subprocess.run([program, "-v", "error", "-y", "-i", "x.wav", *options.split(), name], check=True, cwd=tmp_path)
    return (tmp_path / name).read_bytes()


def test_aac_behind_an_id3_tag_is_aac(system_program, tmp_path, wav, babble):
    aac = encoded(system_program("ffmpeg"), tmp_path, wav(babble(1.0)), "-c:a aac", "x.aac")
    assert pcm_sha256(decode(ID3 + aac, "x")) == pcm_sha256(decode(aac, "x"))


def test_flac_in_ogg_is_read_exactly(system_program, tmp_path, wav, babble):
    ogg = encoded(system_program("ffmpeg"), tmp_path, wav(babble(1.0)), "-c:a flac", "x.ogg")
    assert pcm_sha256(decode(ogg, "x")) == pcm_sha256(decode(wav(babble(1.0)), "x"))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("-c:a libopus -page_duration 200000", "x.opus"),
        ("-c:a libvorbis -page_duration 200000", "x.ogg"),
        ("-c:a libmp3lame", "x.mp3"),
        ("-c:a libmp3lame -ar 44100", "x.mp3"),
    ],
)
def test_a_file_that_was_cut_off_says_so(system_program, tmp_path, wav, babble, options, name):
    whole = encoded(system_program("ffmpeg"), tmp_path, wav(babble(4.0)), options, name)
    assert decode(whole, "x").warnings == ()
    part = decode(whole[: len(whole) * 6 // 10], "x")
    assert part.warnings[-1:] == ("header_size",)
    assert 1.0 < part.duration_s < 3.5


def test_a_damaged_page_of_an_ogg_file_does_not_go_unseen(babble):
    ogg = bytearray(coded(babble(8.0), 24000, "OGG", "VORBIS"))
    assert decode(bytes(ogg), "x").warnings == ()
    middle = len(ogg) // 2
    ogg[middle : middle + 40] = b"\xaa" * 40
    damaged = decode(bytes(ogg), "x")
    assert damaged.duration_s < 8.0
    assert damaged.warnings == ("header_size",)


def test_the_ending_of_a_name_does_not_matter(wav, babble):
    assert decode(wav(babble(0.5)), "speech.mp3").duration_s == 0.5


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "an empty file"),
        (b"<!doctype html><html><body>502 Bad Gateway</body></html>", "HTML"),
        (b"\xef\xbb\xbf<html><body>404</body></html>", "HTML"),
        (b'  {"error": {"message": "no"}}', "JSON"),
        (b"hello, this is no audio at all", "no known audio format"),
        (b"RIFF\x24\0\0\0WAVE", "cannot be decoded"),
        (b"fLaC" + b"\0" * 60, "cannot be decoded"),
        (b"OggS" + b"\0" * 400, "cannot be decoded"),
    ],
)
def test_what_is_no_audio_is_refused_by_name_and_reason(data, reason):
    with pytest.raises(AudioError, match=reason) as refusal:
        decode(data, "take-7.wav")
    assert str(refusal.value).startswith("take-7.wav: ")


def test_a_rate_of_zero_and_zero_frames_are_refused(wav, tone):
    with pytest.raises(AudioError, match="cannot be decoded"):
        decode(wav(tone(-20, 1), claimed_rate_hz=0), "x")
    with pytest.raises(AudioError, match="zero frames"):
        decode(wav(np.zeros((0, 1))), "x")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("bits", [32, 64])
def test_nan_and_infinity_are_refused_with_their_place(wav, tone, bad, bits):
    samples = np.repeat(tone(-20, 2), 2, axis=1)
    samples[12000, 1] = bad
    with pytest.raises(AudioError, match=r"NaN or infinite sample, the first at 0\.500 s"):
        decode(wav(samples, bits=bits, floats=True), "x")


def test_a_damaged_flac_is_refused(babble):
    flac = coded(babble(1.0), 24000, "FLAC", "PCM_16")
    with pytest.raises(AudioError, match=r"cannot be decoded: \w"):
        decode(flac[: len(flac) * 2 // 3], "x")


@given(st.binary(max_size=400), st.sampled_from([b"", b"RIFF", b"fLaC", b"OggS", b"FORM", b".snd", b"caff", b"RF64"]))
def test_arbitrary_bytes_never_raise_anything_else(data, magic):
    if data[4:8] == b"ftyp" or data[:1] == b"\xff" or data.startswith((b"ID3", b"\x1a\x45")):
        return  # ffmpeg's
    with contextlib.suppress(AudioError):
        decode(magic + data, "x")


MP3 = {"cbr": "-c:a libmp3lame -b:a 64k", "vbr": "-c:a libmp3lame -q:a 4"}


@pytest.mark.parametrize("rate_hz", [8000, 16000, 22050, 24000, 44100, 48000])
@pytest.mark.parametrize("kind", MP3)
@pytest.mark.parametrize("xing", ["0", "1"])
def test_mp3_is_decoded_to_its_true_length(system_program, tmp_path, wav, babble, rate_hz, kind, xing):
    encoder = system_program("ffmpeg")
    (tmp_path / "x.wav").write_bytes(wav(babble(2.0, rate_hz), rate_hz))
    options = [*MP3[kind].split(), "-write_xing", xing, tmp_path / "x.mp3"]
    subprocess.run([encoder, "-v", "error", "-i", tmp_path / "x.wav", *options], check=True)
    clip = decode((tmp_path / "x.mp3").read_bytes(), "x")
    # an MPEG frame at 8 kHz is 72 ms, and without a tag the encoder's delay and padding stay
    assert 2.0 - 1e-3 <= clip.duration_s <= 2.0 + max(0.1, 2 * 1152 / rate_hz)
    assert (clip.rate_hz, clip.channels, clip.warnings) == (rate_hz, 1, ())


@pytest.mark.parametrize("options", ["-c:a aac x.m4a", "-c:a aac x.aac", "-c:a libopus x.opus", "-c:a libopus x.webm"])
def test_aac_and_opus_are_decoded_by_ffmpeg(system_program, tmp_path, wav, babble, options):
    encoder = system_program("ffmpeg")
    (tmp_path / "x.wav").write_bytes(wav(babble(2.0)))
    subprocess.run([encoder, "-v", "error", "-i", "x.wav", *options.split()], check=True, cwd=tmp_path)
    clip = decode((tmp_path / options.split()[-1]).read_bytes(), "x")
    assert clip.duration_s == pytest.approx(2.0, abs=0.1)


def test_a_broken_mp3_is_refused_by_ffmpeg_with_its_reason(system_program):
    system_program("ffmpeg")
    with pytest.raises(AudioError, match="cannot be decoded as mp3"):
        decode(b"ID3\x04\0\0\0\0\0\0" + bytes(range(64)) * 10, "x")


def test_without_ffmpeg_an_mp3_is_refused_and_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(AudioError, match="needs the ffmpeg program"):
        decode(b"\xff\xfb\x90\0" + b"\0" * 500, "x")


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.wav")
    (tmp_path / "folder.wav").mkdir()
    for path in (tmp_path / "pipe.wav", tmp_path / "folder.wav"):
        with pytest.raises(AudioError, match="not a regular file"):
            read_audio_file(path)
    with pytest.raises(AudioError, match="no such file"):
        read_audio_file(tmp_path / "gone.wav")
    with pytest.raises(AudioError, match="cannot be read"):
        read_audio_file(tmp_path / ("long" * 100))
    (tmp_path / "link.wav").symlink_to(tmp_path / "real.wav")
    (tmp_path / "real.wav").write_bytes(b"x")
    assert read_audio_file(tmp_path / "link.wav") == b"x"
