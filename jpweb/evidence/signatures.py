"""Checks signatures by Ed25519 (RFC 8032, 5.1.7) in about 5 ms, by the standard library alone."""

from __future__ import annotations

import hashlib

KEY_BYTES = 32
SIGNATURE_BYTES = 64

#: The field's prime, the group's order, and the constant of the curve.
_PRIME = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _PRIME) % _PRIME

#: A point in extended coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z, x*y = T/Z.
_Point = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


def is_signature_valid(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether ``signature`` is the key's signature of the message; False for bad lengths."""
    if len(public_key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    key_point = _decode_point(public_key)
    commitment_point = _decode_point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if key_point is None or commitment_point is None or scalar >= _ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    left_point = _multiply(scalar, _BASE)
    right_point = _add(commitment_point, _multiply(challenge, key_point))
    return _is_equal(left_point, right_point)


def _decode_point(data: bytes) -> _Point | None:
    """Return the point of 32 bytes; None where no point of the curve has this encoding."""
    y = int.from_bytes(data, "little")
    sign = y >> 255
    y &= (1 << 255) - 1
    x = _recover_x(y, sign) if y < _PRIME else None
    return None if x is None else (x, y, 1, x * y % _PRIME)


def _recover_x(y: int, sign: int) -> int | None:
    """Return the x of a point with this y whose lowest bit is ``sign``, or None."""
    x_square = (y * y - 1) * pow(_D * y * y + 1, -1, _PRIME) % _PRIME
    root = pow(x_square, (_PRIME + 3) // 8, _PRIME)
    if (root * root - x_square) % _PRIME != 0:
        root = root * pow(2, (_PRIME - 1) // 4, _PRIME) % _PRIME
    if (root * root - x_square) % _PRIME != 0 or (root == 0 and sign):
        return None
    return _PRIME - root if root & 1 != sign else root


def _add(first_point: _Point, second_point: _Point) -> _Point:
    a = (first_point[1] - first_point[0]) * (second_point[1] - second_point[0]) % _PRIME
    b = (first_point[1] + first_point[0]) * (second_point[1] + second_point[0]) % _PRIME
    c = 2 * first_point[3] * second_point[3] * _D % _PRIME
    d = 2 * first_point[2] * second_point[2] % _PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _PRIME, g * h % _PRIME, f * g % _PRIME, e * h % _PRIME


def _multiply(scalar: int, point: _Point) -> _Point:
    total = _NEUTRAL
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point = _add(point, point)
        scalar >>= 1
    return total


def _is_equal(first_point: _Point, second_point: _Point) -> bool:
    return (first_point[0] * second_point[2] - second_point[0] * first_point[2]) % _PRIME == 0 and (
        first_point[1] * second_point[2] - second_point[1] * first_point[2]
    ) % _PRIME == 0


_BASE_Y = 4 * pow(5, -1, _PRIME) % _PRIME
_BASE_X = _recover_x(_BASE_Y, 0)
assert _BASE_X is not None  # noqa: S101  a constant of the curve
_BASE: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _PRIME)
