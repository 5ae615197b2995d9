"""Tests that need Amazon's SDK, which Python 3.11 cannot have."""

import sys

import pytest

from s2s_assets.responses.providers.nova_sonic import NovaSonic
from s2s_assets_tests.conftest import IN_CI

_CAN_HAVE_IT = sys.version_info >= (3, 12)
needs_sdk = pytest.mark.skipif(
    NovaSonic.missing() is not None and not (IN_CI and _CAN_HAVE_IT), reason=str(NovaSonic.missing())
)
"""Skips where the SDK is missing; where CI is set and Python could have it, its tests run, and so fail without it."""
