"""Compares pictures of pages."""

import numpy as np
from PIL import Image, ImageChops


def differing(picture, golden):
    """Returns the share of places that differ clearly: fonts differ a little between machines."""
    if picture.size != golden.size:
        return 1.0
    small = [each.convert("RGB").resize((picture.width // 4, picture.height // 4), Image.BOX) for each in (picture, golden)]
    difference = np.asarray(ImageChops.difference(*small)).max(axis=2)
    return float((difference > 48).mean())
