"""Numbers as a PNG: what a reader of PNG finds in it."""

import base64
import struct
import zlib

import numpy as np
import pytest
import resvg_py
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2s_assets.drawing import heat_png


def chunks(png: bytes) -> dict[bytes, bytes]:
    """Kind → data, each checked against its sum."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    found, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + data)
        found[kind] = data
        at += 12 + length
    return found


def shades(png: bytes) -> np.ndarray:
    """Palette places, shape (rows, columns)."""
    parts = chunks(png)
    columns, rows, *how = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert how == [8, 3, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(rows, columns + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


@given(arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.floats(-200, 100)))
def test_every_number_is_a_pixel_of_its_shade(values):
    expected = np.clip(np.rint((values + 100) / 80 * 255), 0, 255)
    assert (shades(heat_png(values, -100, -20)) == expected).all()


def test_the_palette_grows_lighter_all_the_way():
    palette = np.frombuffer(chunks(heat_png(np.zeros((1, 1)), 0, 1))[b"PLTE"], np.uint8).reshape(256, 3)
    luma = palette @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luma) > 0).all()
    assert luma[0] < 15
    assert luma[-1] > 235


@pytest.mark.parametrize(("value", "light"), [(0.0, False), (1.0, True)])
def test_another_reader_draws_it(value, light):
    png = base64.b64encode(heat_png(np.full((3, 5), value), 0, 1)).decode()
    image = f'<image width="5" height="3" href="data:image/png;base64,{png}"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="5" height="3">{image}</svg>'
    drawn = bytes(resvg_py.svg_to_bytes(svg_string=svg, background="#808080"))
    raw = zlib.decompress(chunks(drawn)[b"IDAT"])
    assert (np.frombuffer(raw, np.uint8)[1:4].mean() > 200) == light
