"""Settings -> open stores; the one place that knows which implementation is behind a seam."""

from __future__ import annotations
