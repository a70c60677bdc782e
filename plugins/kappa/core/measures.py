"""The measures of a window, in the order of the columns that hold them."""

from __future__ import annotations

MEASURES = (
    "impressions",
    "clicks",
    "impression_micros",
    "click_micros",
    "seen_impressions",
    "seen_clicks",
    "seen_impression_micros",
    "seen_click_micros",
)
"""The columns of a windowed job's row beside its keys and `window_start`: what was counted, and what arrived."""
