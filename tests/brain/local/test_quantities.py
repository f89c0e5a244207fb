"""Amounts, dates and times that are the same however they are written."""

from __future__ import annotations

import pytest

from nacre.brain.local.quantities import same_and_other


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The shelf is 1.5 m wide", "shelf: 150 cm"),
        ("Lands at 16:45", "we get in at quarter to five"),
        ("面粉一袋250克", "一袋面粉半斤"),
        ("通过率75%", "通过率七成五"),
        ("全场七折", "所有东西便宜三成"),
        ("超时2500毫秒", "两秒半没回就算超时"),
        ("每周例会上午九点半", "例会9:30"),
        ("At most 3072 MB", "3 GB at the most"),
        ("due 2026-04-09", "It is due on April 9th"),
        ("bake at 200 °C", "goes in at 392 fahrenheit"),
        ("half a hectare", "5,000 square metres"),
        ("约二十六个人", "26人"),
    ],
)
def test_equal_however_it_is_written(old: str, new: str) -> None:
    equal, other, added = same_and_other(old, new)
    assert (equal, other, added) == (True, False, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10 km on Saturdays", "10 miles on Saturdays"),
        ("每次进50斤", "每次进50公斤"),
        ("tokens expire after 30 minutes", "tokens live for 12 hours"),
        ("检查在9月10号", "检查延到9月25号"),
        ("size 31", "size 33"),
        ("Ada is on 0151 4960123", "Ada: 0151 4960177"),
        ("小慧的电话是13900001234。", "小慧：13900005678"),
    ],
)
def test_another_amount_of_the_same_kind(old: str, new: str) -> None:
    assert same_and_other(old, new)[1]


def test_what_is_no_amount() -> None:
    assert same_and_other("一起去吧", "一些人说好") == (False, False, False)
